/** Everything that is measured in one turn of one contender. */
import os from 'node:os';
import { measureBacklog } from './backlog';
import { HOT_SHARE, SHARE, type ContenderName } from './contenders';
import { measureLatency } from './latency';
import type { Backlog, Failure, Latency, Sample } from './results';
import { beginTurn, type Bench, type Turn } from './turn';
import type { WorkloadName } from './workloads';

export interface Plan {
  run: number;
  contender: ContenderName;
  processes: number;
  ledger: number;
  events: number;
  workloads: WorkloadName[];
  rates: number[];
  latencySeconds: number;
}

/** A rate this close to what a contender can do at all measures its queue, not its latency. */
const SUSTAINABLE = 0.7;
const LEAST_EVENTS = 40;

export async function measureTurn(bench: Bench, plan: Plan, note: (sample: Sample) => void): Promise<void> {
  const { run, contender, processes, ledger } = plan;
  let load = os.loadavg()[0]!;
  const add = (sample: Backlog | Latency | Failure) =>
    note({ ...sample, run, contender, processes, ledger, load });
  const fail = (of: string) => (error: unknown) => {
    add({ kind: 'failure', of, reason: error instanceof Error ? error.message : String(error) });
    return undefined;
  };
  const size = (share: number) => Math.max(LEAST_EVENTS, Math.round(plan.events * share));
  const share = SHARE[contender];
  const turn = await beginTurn(bench, contender, { processes, ledger, warmUp: size(share / 2) }).catch(
    fail('start'),
  );
  if (!turn) return;
  try {
    let backlogRate = Infinity;
    for (const workload of plan.workloads) {
      load = os.loadavg()[0]!;
      const count = size((workload === 'hot' ? HOT_SHARE[contender] : undefined) ?? share);
      const sample = await measureBacklog(turn, workload, count).catch(fail(workload));
      if (!sample) return;
      add(sample);
      if (workload === 'one') backlogRate = sample.perSecond;
    }
    await measureRates(turn, plan, backlogRate, (sample) => add(sample), fail);
  } finally {
    await turn.end();
  }
}

async function measureRates(
  turn: Turn,
  { rates, latencySeconds }: Plan,
  backlogRate: number,
  add: (sample: Latency | Failure) => void,
  fail: (of: string) => (error: unknown) => undefined,
): Promise<void> {
  for (const rate of rates) {
    if (rate > backlogRate * SUSTAINABLE) continue;
    const sample = await measureLatency(turn, rate, latencySeconds).catch(fail(`${rate}/s`));
    if (!sample) return;
    add(sample);
  }
}
