/** Free ports for the rivals' servers, below the range from which the system takes ports for outgoing connections. */
import { isFree } from '../../stack/ports';

const handedOut = new Set<number>();

export async function freePort(): Promise<number> {
  for (;;) {
    const port = 15_000 + Math.floor(Math.random() * 17_000);
    if (handedOut.has(port) || !(await isFree(port))) continue;
    handedOut.add(port);
    return port;
  }
}
