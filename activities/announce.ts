import { referenceKey, type MoveStockResult } from '../commands';
import type { Logger } from '../log';
import { metrics } from '../metrics';
import type { Posting } from './judge';
import type { TrackingEntry } from './models';

/** Counts and logs each command that was parked or decided, once, from its first entry. */
export function announce(entries: readonly TrackingEntry[], log: Logger): void {
  for (const entry of entries) {
    // Nearly all are applied as they came.
    if (entry.line !== 0 || (entry.outcome === 'APPLIED' && entry.decision === undefined)) continue;
    const { referenceType, referenceId, attempt, source, workflowId, decision, actor, reason } = entry;
    const about = {
      reference: referenceKey(referenceType, referenceId),
      attempt,
      workflowId,
      source: { ...source, offset: source.offset.toString() },
    };
    if (decision !== undefined) {
      metrics.decided.inc({ reference_type: referenceType, decision });
      // Who it was stands in the ledger; a log is read, copied and kept by others.
      log.info({ ...about, decision, outcome: entry.outcome }, 'command decided');
      log.debug({ ...about, decision, actor, reason }, 'command decided, by whom and why');
    }
    if (entry.outcome === 'PARKED') {
      metrics.parked.inc({ reference_type: referenceType, case: entry.case ?? '' });
      log.warn({ ...about, case: entry.case }, 'command parked: a person decides, see inventory parked');
    }
  }
}

/** One line for each command of a transaction. */
export function tellJudged(
  postings: readonly Posting[],
  results: readonly MoveStockResult[],
  log: Logger,
): void {
  if (!log.isLevelEnabled('debug')) return;
  for (const [index, { command, workflowId }] of postings.entries()) {
    const { referenceType, referenceId, source } = command;
    const reference = referenceKey(referenceType, referenceId);
    log.debug({ reference, workflowId, source, outcome: results[index]?.outcome }, 'command judged');
  }
}
