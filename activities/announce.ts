import { referenceKey } from '../commands';
import type { Logger } from '../log';
import { metrics } from '../metrics';
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
      log.info({ ...about, decision, actor, reason, outcome: entry.outcome }, 'command decided');
    }
    if (entry.outcome === 'PARKED') {
      metrics.parked.inc({ reference_type: referenceType, case: entry.case ?? '' });
      log.warn({ ...about, case: entry.case }, 'command parked: a person decides, see inventory parked');
    }
  }
}
