/** Workflows as verbs show them: found in Temporal by reference or stock, with their address in the Web UI. */
import { SEARCH_ATTRIBUTES, REFERENCE_TYPES, referenceKey } from '../commands';
import type { Config } from '../config';
import type { Temporal } from '../temporal';
import { quoted } from '../visibility';

export interface FoundWorkflow {
  workflowId: string;
  runId: string;
  status: string;
  /** Set for every outcome that is not plain APPLIED, such as `PARKED/CONFLICT`. */
  outcome?: string;
  startedAt: string;
}

const MAX_LISTED = 100;

/** Address of a workflow in Temporal's Web UI. */
export function webUi({ TEMPORAL_UI_URL, temporal }: Config, workflowId: string, runId: string): string {
  const base = TEMPORAL_UI_URL.replace(/\/$/, '');
  return `${base}/namespaces/${temporal.namespace}/workflows/${encodeURIComponent(workflowId)}/${runId}/history`;
}

/**
 * Workflows of references, and those that run and name a stock: what waits for it, or is parked.
 * @throws when Temporal does not answer or lacks the search attributes
 */
export async function workflowsOf(
  { client }: Temporal,
  taskQueue: string,
  about: { references: readonly string[]; referenceId: string; waitingForStock?: string },
): Promise<FoundWorkflow[]> {
  const keys =
    about.references.length > 0
      ? about.references
      : REFERENCE_TYPES.map((t) => referenceKey(t, about.referenceId));
  const among = keys
    .slice(0, 50)
    .map((key) => quoted(key.slice(0, 255)))
    .join(', ');
  const queries = [`${SEARCH_ATTRIBUTES.reference} IN (${among})`];
  if (about.waitingForStock !== undefined) {
    queries.push(
      `${SEARCH_ATTRIBUTES.stocks} = ${quoted(about.waitingForStock.slice(0, 255))} AND ExecutionStatus = 'Running'`,
    );
  }
  const found = new Map<string, FoundWorkflow>();
  for (const query of queries) {
    const list = client.workflow.list({ query: `${query} AND TaskQueue = ${quoted(taskQueue)}` });
    for await (const { workflowId, runId, status, searchAttributes, startTime } of list) {
      if (found.size >= MAX_LISTED) break;
      const outcome = searchAttributes[SEARCH_ATTRIBUTES.outcome]?.[0];
      found.set(`${workflowId} ${runId}`, {
        workflowId,
        runId,
        status: status.name,
        ...(outcome === undefined ? {} : { outcome: String(outcome) }),
        startedAt: startTime.toISOString(),
      });
    }
  }
  return [...found.values()].sort((a, b) => (a.startedAt < b.startedAt ? -1 : 1));
}
