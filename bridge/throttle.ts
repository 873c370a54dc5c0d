/**
 * Bounds the calls in flight, and the calls per second once the server has asked to slow down: half of what went
 * through, then a little more with each call that works, until the limit is so high that it is none.
 */
import { sleep } from './waiting';

/** Above this many calls per second the limit is lifted. */
const UNLIMITED_PER_SECOND = 2_000;

export class Throttle {
  private inFlight = 0;
  private readonly waiting: (() => void)[] = [];
  private perSecond = Infinity;
  private nextAt = 0;
  private slowedAt = 0;
  private workedSince = Date.now();
  private workedCount = 0;

  constructor(private readonly concurrency: number) {}

  /** Runs `call` when its turn comes; `aborted` when the signal came first. */
  async run<T>(call: () => Promise<T>, signal?: AbortSignal): Promise<T | 'aborted'> {
    if (!(await this.enter(signal))) return 'aborted';
    try {
      const now = Date.now();
      const turnAt = Math.max(now, this.nextAt);
      this.nextAt = turnAt + 1000 / this.perSecond;
      if (turnAt > now) await sleep(turnAt - now, signal);
      return signal?.aborted ? 'aborted' : await call();
    } finally {
      // Handed over directly, so that nobody overtakes the one who waited longest.
      const next = this.waiting.shift();
      if (next) next();
      else this.inFlight--;
    }
  }

  /** Calls per second allowed now. */
  get limitPerSecond(): number {
    return this.perSecond;
  }

  /** The server asked to slow down. Calls that were in flight together count once. */
  slower(): void {
    const now = Date.now();
    if (now < this.slowedAt + 1_000) return;
    const seconds = Math.max(0.1, (now - this.workedSince) / 1000);
    const taken = Math.min(this.perSecond, this.workedCount / seconds);
    this.perSecond = Math.max(1, taken / 2);
    this.nextAt = now + 1000 / this.perSecond;
    this.slowedAt = this.workedSince = now;
    this.workedCount = 0;
  }

  /** A call worked. */
  worked(): void {
    const now = Date.now();
    if (now > this.workedSince + 10_000) {
      this.workedSince = now - 1;
      this.workedCount = 0;
    }
    this.workedCount++;
    if (this.perSecond === Infinity) return;
    // About ten per second more with each second, or double where the limit is below that.
    this.perSecond += Math.min(1, 10 / this.perSecond);
    if (this.perSecond > UNLIMITED_PER_SECOND) this.perSecond = Infinity;
  }

  private async enter(signal?: AbortSignal): Promise<boolean> {
    if (signal?.aborted) return false;
    if (this.inFlight < this.concurrency) {
      this.inFlight++;
      return true;
    }
    return new Promise<boolean>((resolve) => {
      const go = () => {
        signal?.removeEventListener('abort', leave);
        resolve(true);
      };
      const leave = () => {
        this.waiting.splice(this.waiting.indexOf(go), 1);
        resolve(false);
      };
      signal?.addEventListener('abort', leave, { once: true });
      this.waiting.push(go);
    });
  }
}
