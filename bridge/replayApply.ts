/** Carries out commands of a replay as live events are: through the same starter, at a limited rate. */
import type { Command } from '../commands';
import { Unavailable } from './records';
import type { Starter } from './start';
import { sleep } from './waiting';

/** Tries of a start while Temporal does not answer; then the replay stops and can go on later. */
const START_TRIES = 8;

/** Commands per second, evened out over what was started so far. */
export class Pace {
  private readonly startedAt = Date.now();
  private started = 0;

  constructor(private readonly perSecond: number) {}

  /** Waits until so many more are due. */
  async take(count: number, signal: AbortSignal): Promise<void> {
    const dueAt = this.startedAt + (this.started / this.perSecond) * 1_000;
    this.started += count;
    if (dueAt > Date.now()) await sleep(dueAt - Date.now(), signal);
  }
}

/**
 * Resolves when a durable workflow exists for each command.
 * @throws Unavailable when Temporal did not answer for long
 */
export async function startAll(
  starter: Starter,
  commands: readonly Command[],
  signal: AbortSignal,
): Promise<void> {
  await Promise.all(commands.map((command) => startOne(starter, command, signal)));
}

async function startOne(starter: Starter, command: Command, signal: AbortSignal): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      await starter.start(command);
      return;
    } catch (error) {
      if (!(error instanceof Unavailable) || tries === START_TRIES || signal.aborted) throw error;
      await sleep(Math.min(200 * 2 ** tries, 5_000), signal);
    }
  }
}

/**
 * Asks `isSettled` again and again, until it says yes.
 * @returns false when it did not within `withinMs`
 */
export async function settled(isSettled: () => Promise<boolean>, withinMs: number): Promise<boolean> {
  for (let waitMs = 30, deadline = Date.now() + withinMs; ; waitMs = Math.min(waitMs * 1.5, 1_000)) {
    if (await isSettled()) return true;
    if (Date.now() > deadline) return false;
    await sleep(waitMs);
  }
}
