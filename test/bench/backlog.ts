/** Measures a backlog: everything is published while the contender stands still, then it is let go. */
import { setTimeout as sleep } from 'node:timers/promises';
import { commitsSince, logPosition, rateOf } from './commits';
import { checkLedger, ledgerBytes, uniqueEvents } from './ledger';
import { cpuSeconds, peakMb, resetPeak, signalAll } from './processes';
import type { Backlog } from './results';
import { applied, PARTITIONS, prepare, publish, type Turn } from './turn';
import { workload, type Workload, type WorkloadName } from './workloads';

/** After the last commit: workflows close, offsets are committed, and that belongs to the cost. */
const AFTERWARDS_MS = 500;

export async function measureBacklog(turn: Turn, name: WorkloadName, count: number): Promise<Backlog> {
  const work = workload(name, turn.prefix(), count, PARTITIONS);
  const before = await prepare(turn, work);
  const bytesBefore = await ledgerBytes(turn.database);
  const known = new Set(work.before.map((event) => event.referenceId));
  const fresh = uniqueEvents(work).filter((event) => !known.has(event.referenceId));
  const { processes, servers } = turn.started;

  signalAll(processes, 'SIGSTOP');
  await publish(turn, work.events);
  const all = [...processes, ...servers.filter((server) => !processes.includes(server)), ...turn.shared];
  for (const { pid } of all) resetPeak(pid);
  const position = await logPosition(turn.database);
  const cpuBefore = all.map(({ pid }) => cpuSeconds(pid));
  const thawed = Date.now();
  const since = { ...before, time: new Date(thawed) };
  signalAll(processes, 'SIGCONT');
  await applied(turn, since, fresh);
  const seconds = (Date.now() - thawed) / 1_000;
  await sleep(AFTERWARDS_MS);
  const cpu = Object.fromEntries(
    all.map(({ name, pid }, index) => [
      name,
      (cpuSeconds(pid) - cpuBefore[index]!) / (work.events.length / 1_000),
    ]),
  );
  const memoryMb = Object.fromEntries(all.map(({ name, pid }) => [name, Math.round(peakMb(pid))]));

  const temporal = turn.histories && (await turn.histories.cost(since.time));
  const times = await effectTimes(turn, since.time, position);
  const bytes = await ledgerBytes(turn.database);
  return {
    kind: 'backlog',
    workload: name,
    events: work.events.length,
    perSecond: rate(work, times),
    seconds,
    cpuPerThousand: cpu,
    memoryMb,
    ...(temporal ? { temporal } : {}),
    ...(turn.contender === 'empty'
      ? {}
      : {
          bytesPerEvent: (bytes.entries - bytesBefore.entries) / fresh.length,
          indexBytesPerEvent: (bytes.indexes - bytesBefore.indexes) / fresh.length,
        }),
    check: turn.contender === 'empty' ? 'no ledger' : ((await checkLedger(turn.database, work)) ?? 'holds'),
  };
}

/** When each reference had its effect: its commit, or for the empty workflow its end. */
export async function effectTimes(
  turn: Turn,
  since: Date,
  position: Awaited<ReturnType<typeof logPosition>>,
): Promise<Map<string, number>> {
  if (turn.contender !== 'empty') return commitsSince(turn.database, position);
  const closed = await turn.histories!.closed(since);
  // Its workflow ID is type and reference.
  return new Map([...closed].map(([id, time]) => [id.slice(id.indexOf('/') + 1), time]));
}

function rate({ events, markers }: Workload, times: ReadonlyMap<string, number>): number {
  if (!markers) return rateOf([...times.values()]);
  const of = (references: Set<string>) => [...references].map((reference) => times.get(reference)!);
  const first = Math.min(...of(markers.first));
  const last = Math.max(...of(markers.last));
  return events.length / ((last - first) / 1_000);
}
