/** What a fault is to the campaign. */
import type { Lab } from '../lab';

export interface Fault {
  /** As `--fault` takes it. */
  name: string;
  /** What is done, for the table. */
  does: string;
  /** Does it, while the load goes on; resolves when it is time to heal. */
  inject(lab: Lab): Promise<Injected>;
}

export interface Injected {
  /** Puts things right again, as an operator would; left out when nothing has to be done. */
  heal?(): Promise<void>;
  /**
   * Asked after healing.
   * @returns what shows that the fault hit the product
   * @throws Error when nothing shows it
   */
  bitten(): Promise<string> | string;
}

/** Fails unless the number is there; for proofs. */
export function atLeast(least: number, found: number, what: string): string {
  if (found < least) throw new Error(`${found} ${what}, and ${least} would have shown that it hit`);
  return `${found} ${what}`;
}
