/**
 * Work on the same stock one after the other inside one process. Transactions that fight over a stock in MongoDB
 * cost each loser a retry; on one hot stock, waiting here is what lifts a consumer the most.
 */
export class Lanes {
  private readonly last = new Map<string, Promise<void>>();

  /** Takes its place in all lanes at once, so that no two wait for each other. */
  async run<T>(lanes: readonly string[], work: () => Promise<T>): Promise<T> {
    const before = lanes.flatMap((lane) => this.last.get(lane) ?? []);
    let leave: () => void = () => undefined;
    const here = new Promise<void>((resolve) => (leave = resolve));
    for (const lane of lanes) this.last.set(lane, here);
    await Promise.all(before);
    try {
      return await work();
    } finally {
      leave();
      for (const lane of lanes) if (this.last.get(lane) === here) this.last.delete(lane);
    }
  }
}

/** At most `most` at once; what comes above that waits in order. */
export class Slots {
  private readonly waiting: (() => void)[] = [];

  constructor(private free: number) {}

  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.free > 0) this.free--;
    else await new Promise<void>((resolve) => this.waiting.push(resolve));
    try {
      return await work();
    } finally {
      const next = this.waiting.shift();
      if (next) next();
      else this.free++;
    }
  }
}
