/** Questions to Temporal's visibility store. */
import type { WorkflowClient } from '@temporalio/client';
import { SEARCH_ATTRIBUTES } from './commands';
import { CASES, IS_PARKED, parkedAttribute } from './decisions';
import type { Logger } from './log';
import { metrics } from './metrics';

/** A text inside a query: it may come from an event. */
export function quoted(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}

/** The parked commands of one task queue. */
export function parkedQuery(taskQueue: string): string {
  return `${IS_PARKED} AND TaskQueue = ${quoted(taskQueue)}`;
}

const HOUR_MS = 3_600_000;
/** How long ago a command came in, from the youngest on; the last one has no end. */
const CAME_IN = [
  { name: 'under-1h', untilMs: HOUR_MS },
  { name: '1h-to-1d', untilMs: 24 * HOUR_MS },
  { name: '1d-to-7d', untilMs: 7 * 24 * HOUR_MS },
  { name: 'over-7d', untilMs: Infinity },
] as const;

/**
 * Counts parked commands by case and age into their metric. One query while nothing is parked, 13 otherwise.
 *
 * Asked of the visibility store rather than of the ledger: it is what `inventory parked` lists, its counts do not
 * grow dearer with what was ever parked, and a workflow that somebody ended by hand no longer waits for anybody.
 */
export async function countParked(client: WorkflowClient, taskQueue: string): Promise<void> {
  const all = parkedQuery(taskQueue);
  const none = (await client.count(all)).count === 0;
  const now = Date.now();
  for (const parkedCase of CASES) {
    const ofCase = `${all} AND ${SEARCH_ATTRIBUTES.outcome} = ${quoted(parkedAttribute(parkedCase))}`;
    let younger = '';
    for (const { name, untilMs } of CAME_IN) {
      const since = untilMs === Infinity ? '' : new Date(now - untilMs).toISOString();
      const older = since && ` AND StartTime > ${quoted(since)}`;
      const count = none ? 0 : (await client.count(`${ofCase}${older}${younger}`)).count;
      metrics.parkedNow.set({ case: parkedCase, came_in: name }, count);
      younger = since && ` AND StartTime <= ${quoted(since)}`;
    }
  }
}

/** People decide within hours: a minute is soon enough. */
const COUNT_EVERY_MS = 60_000;
const COUNT_WITHIN_MS = 10_000;

/** Counts every minute until told to stop. While Temporal does not answer, nothing is shown rather than old counts. */
export function watchParked(client: WorkflowClient, taskQueue: string, log: Logger): () => void {
  const look = () =>
    client
      .withDeadline(Date.now() + COUNT_WITHIN_MS, () => countParked(client, taskQueue))
      .catch((err: unknown) => {
        metrics.parkedNow.reset();
        log.debug({ err }, 'parked commands could not be counted');
      });
  void look();
  const timer = setInterval(() => void look(), COUNT_EVERY_MS).unref();
  return () => clearInterval(timer);
}
