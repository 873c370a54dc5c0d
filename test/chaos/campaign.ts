/** One fault after the other under load, each proved and its recovery timed; at the end, quiet and the verdict. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Fault } from './faults/fault';
import type { Lab } from './lab';
import { judge, quiet, type Verdict } from './verdict';

export interface Bite {
  fault: Fault;
  /** What shows that it hit; undefined when nothing does. */
  proof: string | undefined;
  /** From healing until events published then, in every partition, were applied; undefined when they never were. */
  recoverySeconds: number | undefined;
  /** Why it could not be proved, injected or recovered from. */
  problem?: string;
}

export interface Campaign {
  bites: Bite[];
  verdict: Verdict;
  seconds: number;
}

const WARM_UP_MS = 5_000;
const BETWEEN_MS = 2_000;
const RECOVERY_MS = 240_000;
const QUIET_MS = 300_000;

/** @param minutes faults are injected for at least as long, each at least once */
export async function campaign(
  lab: Lab,
  faults: readonly Fault[],
  minutes: number,
  limits: { quietMs?: number; recoveryMs?: number } = {},
): Promise<Campaign> {
  const { say } = lab.settings;
  const began = Date.now();
  await lab.startAll();
  await lab.load.start();
  await sleep(WARM_UP_MS);
  const bites: Bite[] = [];
  do {
    for (const fault of lab.random.shuffled(faults)) {
      if (bites.length >= faults.length && Date.now() > began + minutes * 60_000) break;
      bites.push(await bite(lab, fault, limits.recoveryMs ?? RECOVERY_MS));
      await sleep(BETWEEN_MS);
    }
  } while (Date.now() < began + minutes * 60_000);
  await lab.load.stop();
  say(`${lab.load.published} records published; waiting for quiet`);
  const going = await quiet(lab, limits.quietMs ?? QUIET_MS);
  const verdict = await judge(lab, going);
  return { bites, verdict, seconds: (Date.now() - began) / 1_000 };
}

async function bite(lab: Lab, fault: Fault, recoveryMs: number): Promise<Bite> {
  const { say } = lab.settings;
  say(`${fault.name}: ${fault.does}`);
  let proof: string | undefined;
  try {
    const injected = await fault.inject(lab);
    await injected.heal?.();
    const recoverySeconds = await recovery(lab, recoveryMs);
    proof = await injected.bitten();
    say(`  bitten: ${proof}; recovered after ${recoverySeconds.toFixed(1)} s`);
    return { fault, proof, recoverySeconds };
  } catch (error) {
    const problem = (error as Error).message;
    say(`  FAULT OF THE FAULT: ${problem}`);
    return { fault, proof, recoverySeconds: undefined, problem };
  }
}

async function recovery(lab: Lab, withinMs: number): Promise<number> {
  const healed = Date.now();
  const probes = await lab.load.probe();
  await lab.until(
    'what was published after healing is applied',
    async () => (await Promise.all(probes.map((probe) => lab.isApplied(probe)))).every(Boolean),
    withinMs,
  );
  return (Date.now() - healed) / 1_000;
}
