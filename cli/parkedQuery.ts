/** Parked commands as Temporal's visibility store lists them. */
import { isGrpcServiceError, QueryNotRegisteredError, type WorkflowExecutionInfo } from '@temporalio/client';
import { type Command, Option } from 'commander';
import ms from 'ms';
import { referenceIn, REFERENCE_TYPES, SEARCH_ATTRIBUTES } from '../commands';
import { CASES, PARKED_QUERY, parkedAttribute, type Case, type ParkedView } from '../decisions';
import type { Temporal } from '../temporal';
import { parkedQuery, quoted } from '../visibility';
import { UsageError, visible } from './context';

/** Rows fetched at once; nothing holds more of a list in memory. */
export const PAGE_SIZE = 100;
/** gRPC's CANCELLED and DEADLINE_EXCEEDED, and FAILED_PRECONDITION for a task queue that nobody polls. */
const NO_WORKER: ReadonlySet<number> = new Set([1, 4, 9]);
/** Visibility stores keep a keyword in 255 characters. */
const KEYWORD_CHARACTERS = 255;

export interface Filter {
  case?: Case;
  referenceType?: string;
  stock?: string;
  olderThan?: string;
}

/** One parked command of a list. */
export interface ParkedRow {
  case: string;
  reference: string;
  since: string;
  stocks: string[];
  workflowId: string;
}

/** Adds the filters that every list of parked commands takes. */
export function filtered(command: Command): Command {
  return command
    .addOption(new Option('--case <case>', 'why it is parked').choices(CASES))
    .addOption(new Option('--reference-type <type>').choices(REFERENCE_TYPES))
    .option('--stock <id>', 'one of its stocks')
    .option('--older-than <time>', 'came in longer ago than, e.g. 2h or 3d');
}

/** @throws UsageError on a time that is none */
export function visibilityQuery(filter: Filter, taskQueue: string): string {
  const terms = [parkedQuery(taskQueue)];
  if (filter.case) terms.push(`${SEARCH_ATTRIBUTES.outcome} = ${quoted(parkedAttribute(filter.case))}`);
  if (filter.referenceType) {
    terms.push(`${SEARCH_ATTRIBUTES.referenceType} = ${quoted(filter.referenceType)}`);
  }
  if (filter.stock) terms.push(`${SEARCH_ATTRIBUTES.stocks} = ${quoted(cut(filter.stock))}`);
  if (filter.olderThan) {
    const age = /^\d+(\.\d+)?(s|m|h|d)$/.test(filter.olderThan)
      ? ms(filter.olderThan as ms.StringValue)
      : undefined;
    if (age === undefined)
      throw new UsageError(`--older-than: ${filter.olderThan} is no time such as 2h or 3d`);
    terms.push(`StartTime < ${quoted(new Date(Date.now() - age).toISOString())}`);
  }
  return terms.join(' AND ');
}

/** The parked commands of one reference such as `SALE_ORDER/SO-1`. */
function referenceQuery(reference: string, taskQueue: string): string {
  return `${parkedQuery(taskQueue)} AND ${SEARCH_ATTRIBUTES.reference} = ${quoted(cut(reference))}`;
}

/** Rows one by one, fetched page by page. */
export async function* parkedRows({ client }: Temporal, query: string): AsyncGenerator<ParkedRow> {
  for await (const info of client.workflow.list({ query, pageSize: PAGE_SIZE })) yield row(info);
}

/** The workflow of a workflow ID, or those that are parked for a reference. */
export async function parkedIds(temporal: Temporal, ref: string, taskQueue: string): Promise<string[]> {
  const parts = ref.split('/');
  if (parts.length < 2) {
    throw new UsageError(`${visible(ref)} is neither a reference such as SALE_ORDER/SO-1 nor a workflow ID`);
  }
  if (parts.length > 2) return [ref];
  const ids: string[] = [];
  for await (const { workflowId } of parkedRows(temporal, referenceQuery(ref, taskQueue)))
    ids.push(workflowId);
  return ids;
}

/**
 * What a parked workflow says of itself; undefined when it is not parked.
 * @throws UsageError when no worker answers for it
 */
export async function viewOf({ client }: Temporal, workflowId: string): Promise<ParkedView | undefined> {
  try {
    const view = await client.withDeadline(Date.now() + 10_000, () =>
      client.workflow.getHandle(workflowId).query<ParkedView | null>(PARKED_QUERY),
    );
    return view ?? undefined;
  } catch (error) {
    // A workflow that was never parked does not know the question.
    if (error instanceof QueryNotRegisteredError) return undefined;
    const cause = error instanceof Error ? error.cause : undefined;
    if (isGrpcServiceError(cause) && NO_WORKER.has(cause.code)) {
      throw new UsageError(`no worker answers for ${visible(workflowId)}: start inventory worker or run`);
    }
    throw error;
  }
}

function row({ searchAttributes, startTime, workflowId }: WorkflowExecutionInfo): ParkedRow {
  const first = (name: string) => String(searchAttributes[name]?.[0] ?? '');
  return {
    case: first(SEARCH_ATTRIBUTES.outcome).replace('PARKED/', ''),
    reference: first(SEARCH_ATTRIBUTES.reference) || (referenceIn(workflowId) ?? workflowId),
    since: startTime.toISOString(),
    stocks: (searchAttributes[SEARCH_ATTRIBUTES.stocks] as string[] | undefined) ?? [],
    workflowId,
  };
}

function cut(value: string): string {
  return value.slice(0, KEYWORD_CHARACTERS);
}
