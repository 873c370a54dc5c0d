/** Measures latency: events one by one at a steady rate, from the producer's call to the commit. */
import { setTimeout as sleep } from 'node:timers/promises';
import { effectTimes } from './backlog';
import { logPosition } from './commits';
import { checkLedger } from './ledger';
import type { Latency } from './results';
import { applied, PARTITIONS, prepare, toMessage, type Turn } from './turn';
import { workload } from './workloads';

export async function measureLatency(turn: Turn, perSecond: number, seconds: number): Promise<Latency> {
  const work = workload('one', turn.prefix(), perSecond * seconds, PARTITIONS);
  const since = await prepare(turn, work);
  const position = await logPosition(turn.database);
  const sent = new Map<string, number>();
  const seen = watch(turn);
  const sending: Promise<unknown>[] = [];
  const start = performance.now();
  for (const [index, event] of work.events.entries()) {
    // By the clock and not by the answers: a slow contender must not slow its producer down.
    const due = start + (index * 1_000) / perSecond;
    if (due > performance.now()) await sleep(due - performance.now());
    sent.set(event.referenceId, Date.now());
    sending.push(turn.producer.send({ topic: turn.place.topics[event.topic], messages: [toMessage(event)] }));
  }
  await Promise.all(sending);
  await applied(turn, since, work.events);
  await sleep(300);
  const times = await effectTimes(turn, since.time, position);
  await seen.stop();
  const waits = (at: ReadonlyMap<string, number>) =>
    [...sent].flatMap(([reference, time]) => (at.has(reference) ? [at.get(reference)! - time] : []));
  return {
    kind: 'latency',
    perSecond,
    events: work.events.length,
    committedMs: quantiles(waits(times)),
    ...(turn.contender === 'empty' ? {} : { readableMs: quantiles(waits(seen.at)) }),
    check: turn.contender === 'empty' ? 'no ledger' : ((await checkLedger(turn.database, work)) ?? 'holds'),
  };
}

/** When a reader who wants only what a majority has in its journal sees each event. */
function watch({ database, contender }: Turn): { at: Map<string, number>; stop: () => Promise<void> } {
  const at = new Map<string, number>();
  if (contender === 'empty') return { at, stop: () => Promise.resolve() };
  const stream = database.tracking.watch([
    { $match: { operationType: 'insert' } },
    { $project: { 'fullDocument.referenceId': 1 } },
  ]);
  stream.on('change', (change: { fullDocument?: { referenceId?: string } }) => {
    const reference = change.fullDocument?.referenceId;
    if (reference !== undefined) at.set(reference, Date.now());
  });
  return { at, stop: () => stream.close() };
}

function quantiles(waits: readonly number[]): { p50: number; p99: number; most: number } {
  const sorted = [...waits].sort((a, b) => a - b);
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? NaN;
  return { p50: at(0.5), p99: at(0.99), most: sorted.at(-1) ?? NaN };
}
