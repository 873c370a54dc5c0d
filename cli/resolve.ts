import { createInterface } from 'node:readline/promises';
import {
  WorkflowFailedError,
  WorkflowUpdateFailedError,
  WorkflowUpdateRPCTimeoutOrCancelledError,
} from '@temporalio/client';
import { WorkflowNotFoundError } from '@temporalio/common';
import { type Command, Option } from 'commander';
import type { MoveStockResult } from '../commands';
import {
  DECISIONS,
  describeDecided,
  RESOLVE_UPDATE,
  signatureFault,
  type Decided,
  type Decision,
  type Resolution,
  type ResolveAnswer,
} from '../decisions';
import type { Temporal } from '../temporal';
import { EXIT, print, printJson, printTable, settings, UsageError, visible, withTemporal } from './context';
import {
  filtered,
  PAGE_SIZE,
  parkedIds,
  parkedRows,
  viewOf,
  visibilityQuery,
  type Filter,
} from './parkedQuery';

/** A decision is one transaction; a worker that is busy otherwise may take its time. */
const ANSWER_MS = 60_000;

interface Options extends Filter {
  decision: Decision;
  actor: string;
  reason: string;
  all?: boolean;
  dryRun?: boolean;
  yes?: boolean;
  json?: boolean;
}

/** What became of one command, for people and programs. */
interface Line {
  workflowId: string;
  reference: string;
  became: ResolveAnswer['became'] | 'refused' | 'would';
  says: string;
}

/** `inventory parked resolve` */
export function registerResolve(parked: Command): void {
  const resolve = parked
    .command('resolve')
    .description(
      'decide about a parked command, or with --all about every one that the filters leave\n' +
        'exit code 0: recorded, 1: something was decided otherwise or stays parked, 2: could not run',
    )
    .argument('[ref]', 'a reference such as SALE_ORDER/SO-1, or a workflow ID')
    .addOption(new Option('--decision <decision>').choices(DECISIONS).makeOptionMandatory())
    .requiredOption('--actor <who>', 'who decides; kept in the ledger')
    .requiredOption('--reason <why>', 'why; kept in the ledger')
    .option('--all', 'every parked command that the filters leave')
    .option('--dry-run', 'only say what would happen')
    .option('--yes', 'with --all: do not ask again')
    .option('--json');
  filtered(resolve).action(run);
}

async function run(ref: string | undefined, options: Options): Promise<void> {
  if ((ref === undefined) !== Boolean(options.all)) throw new UsageError('name one reference, or use --all');
  const wrong = signatureFault(options);
  if (wrong !== undefined) throw new UsageError(wrong);
  const config = settings();
  const queue = config.TEMPORAL_TASK_QUEUE;
  await withTemporal(config, async (temporal) => {
    const ids =
      ref === undefined ? await allIds(temporal, options, queue) : await oneId(temporal, ref, queue);
    if (ids.length === 0) {
      if (ref !== undefined) process.exitCode = EXIT.foundSomething;
      if (options.json) printJson([]);
      else print(ref === undefined ? 'nothing is parked' : `nothing is parked under ${visible(ref)}`);
      return;
    }
    if (ref === undefined || options.dryRun) {
      await inPages(ids, options.json === true && options.dryRun === true, (id) =>
        preview(temporal, id, options),
      );
      if (options.dryRun) return;
      await confirm(ids.length, options);
    }
    await inPages(ids, options.json === true, async (id) => {
      const line = await decideOn(temporal, id, options);
      if (line.became === 'refused') process.exitCode = EXIT.couldNotRun;
      else if (line.became !== 'decided') process.exitCode ??= EXIT.foundSomething;
      return line;
    });
  });
}

/** IDs only: just what was shown is decided, not what is parked meanwhile. */
async function allIds(temporal: Temporal, filter: Filter, queue: string): Promise<string[]> {
  const ids: string[] = [];
  for await (const { workflowId } of parkedRows(temporal, visibilityQuery(filter, queue)))
    ids.push(workflowId);
  return ids;
}

async function oneId(temporal: Temporal, ref: string, queue: string): Promise<string[]> {
  const ids = await parkedIds(temporal, ref, queue);
  if (ids.length > 1) {
    throw new UsageError(
      `${visible(ref)} is parked ${ids.length} times; see inventory parked show, and name one workflow: ${visible(ids.join(' '))}`,
    );
  }
  return ids;
}

async function inPages(ids: string[], json: boolean, work: (id: string) => Promise<Line>): Promise<void> {
  let before = '[';
  for (let from = 0; from < ids.length; from += PAGE_SIZE) {
    const lines: Line[] = [];
    for (const id of ids.slice(from, from + PAGE_SIZE)) lines.push(await work(id));
    if (json) {
      for (const line of lines) {
        print(`${before}${JSON.stringify(line)}`);
        before = ',';
      }
    } else {
      printTable(
        ['reference', 'became', ''],
        lines.map((line) => [line.reference, line.became, line.says]),
      );
    }
  }
  if (json) print(']');
}

async function preview(temporal: Temporal, workflowId: string, { decision }: Options): Promise<Line> {
  const view = await viewOf(temporal, workflowId);
  const choice = view?.choices.find((candidate) => candidate.decision === decision);
  return {
    ...about(workflowId),
    became: choice?.fits ? 'would' : 'refused',
    says: choice ? `${view!.case}: ${choice.does}` : 'is not parked any more',
  };
}

/** @throws UsageError when nobody can be asked, or the answer is no */
async function confirm(count: number, { decision, yes }: Options): Promise<void> {
  if (yes) return;
  if (!process.stdin.isTTY) throw new UsageError('--all needs --yes where nobody can be asked');
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  const answer = await terminal.question(`${decision} ${count} commands? [y/N] `);
  terminal.close();
  if (!/^y(es)?$/i.test(answer.trim())) throw new UsageError('nothing was decided');
}

async function decideOn(temporal: Temporal, workflowId: string, options: Options): Promise<Line> {
  const { decision, actor, reason } = options;
  const asked: Resolution = { decision, actor, reason };
  const handle = temporal.client.workflow.getHandle(workflowId);
  try {
    const view = await viewOf(temporal, workflowId);
    if (view?.against.outcome === 'CONFLICT') asked.asOf = view.against.asOf;
    const answer = await temporal.client.withDeadline(Date.now() + ANSWER_MS, () =>
      handle.executeUpdate<ResolveAnswer, [Resolution]>(RESOLVE_UPDATE, { args: [asked] }),
    );
    return line(workflowId, asked, answer.became, answer.result);
  } catch (error) {
    if (error instanceof WorkflowUpdateFailedError) {
      const settled = await settledResult(temporal, workflowId);
      if (settled) return line(workflowId, asked, 'decided-before', settled);
      return { ...about(workflowId), became: 'refused', says: error.cause?.message ?? error.message };
    }
    if (error instanceof WorkflowUpdateRPCTimeoutOrCancelledError) {
      throw new UsageError(
        `${visible(workflowId)}: no answer within ${ANSWER_MS / 1000} s; ask again, which decides nothing twice`,
      );
    }
    if (!(error instanceof WorkflowNotFoundError)) throw error;
    const settled = await settledResult(temporal, workflowId);
    if (!settled) return { ...about(workflowId), became: 'refused', says: 'there is no such workflow' };
    return line(workflowId, asked, 'decided-before', settled);
  }
}

/** The result of a workflow that has ended. */
async function settledResult({ client }: Temporal, workflowId: string): Promise<MoveStockResult | undefined> {
  const handle = client.workflow.getHandle(workflowId);
  try {
    if ((await handle.describe()).status.name !== 'COMPLETED') return undefined;
    return (await handle.result()) as MoveStockResult;
  } catch (error) {
    if (error instanceof WorkflowNotFoundError || error instanceof WorkflowFailedError) return undefined;
    throw error;
  }
}

function line(
  workflowId: string,
  asked: Resolution,
  became: ResolveAnswer['became'],
  result: MoveStockResult,
): Line {
  const decided = 'decided' in result ? result.decided : undefined;
  // Asked a second time after an answer was lost: what is recorded is what is asked.
  const mine = decided !== undefined && same(decided, asked);
  return {
    ...about(workflowId),
    became: mine ? 'decided' : became,
    says: decided
      ? `${result.outcome}, ${describeDecided(decided)}`
      : result.outcome === 'PARKED' && result.here
        ? `still parked: ${result.here.against.outcome}; look again with inventory parked show`
        : result.outcome,
  };
}

function same(decided: Decided, asked: Resolution): boolean {
  return (
    decided.decision === asked.decision && decided.actor === asked.actor && decided.reason === asked.reason
  );
}

function about(workflowId: string): Pick<Line, 'workflowId' | 'reference'> {
  return { workflowId, reference: workflowId.split('/').slice(0, 2).join('/') };
}
