import { setTimeout as sleep } from 'node:timers/promises';
import { WorkflowExecutionAlreadyStartedError } from '@temporalio/client';
import { WorkflowNotFoundError } from '@temporalio/common';
import type { Command } from 'commander';
import { findUnsettled, parseReference, type Unsettled } from '../activities/unsettled';
import { describeCommand } from '../bridge/describe';
import { referenceKey, reopenedWorkflowId, SEARCH_ATTRIBUTES, type MoveStockResult } from '../commands';
import type { Config } from '../config';
import { describeDecided, signatureFault, type Reopening } from '../decisions';
import type { Temporal } from '../temporal';
import { EXIT, print, printJson, settings, UsageError, visible, withDatabase, withTemporal } from './context';

interface Options {
  actor: string;
  reason: string;
  attempt?: string;
  json?: boolean;
}

/** How long the verb looks on; the command goes on by itself. */
const LOOK_MS = 10_000;

/** `inventory reopen`: a refused command gets another chance, signed by a person. */
export function registerReopen(program: Command): void {
  program
    .command('reopen')
    .description(
      'try a refused command again, or bring back a parked one whose workflow was ended from outside\n' +
        'exit code 0: it is applied, 1: it is parked again or cannot be re-opened, 2: could not run',
    )
    .argument('<ref>', 'a reference such as SALE_ORDER/SO-1')
    .requiredOption('--actor <who>', 'who re-opens it; kept in the ledger')
    .requiredOption('--reason <why>', 'why; kept in the ledger')
    .option('--attempt <number>', 'which refusal, when there is more than one')
    .option('--json')
    .action(reopen);
}

async function reopen(ref: string, options: Options): Promise<void> {
  const parsed = parseReference(ref);
  if (!parsed) throw new UsageError(`${visible(ref)} is no reference such as SALE_ORDER/SO-1`);
  const wrong = signatureFault(options);
  if (wrong !== undefined) throw new UsageError(wrong);
  const config = settings();
  const found = await withDatabase(config, (database) => findUnsettled(database, parsed));
  await withTemporal(config, async (temporal) => {
    const candidates = await reopenable(temporal, found);
    const reference = visible(referenceKey(parsed.referenceType, parsed.referenceId));
    if (candidates.length === 0) {
      process.exitCode = EXIT.foundSomething;
      const parked = found.length > 0 ? `; what is parked is decided with inventory parked resolve` : '';
      report(options, {
        reference,
        became: 'nothing',
        says: `nothing is refused under ${reference}${parked}`,
      });
      return;
    }
    const chosen = choose(candidates, options.attempt);
    const workflowId = await startAgain(config, temporal, chosen, options);
    const { outcome, says } = await lookOn(temporal, workflowId);
    if (outcome !== 'APPLIED') process.exitCode = EXIT.foundSomething;
    report(options, { reference, workflowId, became: outcome, says: `${workflowId}: ${says}` });
  });
}

function report({ json }: Options, { says, ...line }: Record<string, string>): void {
  if (json) printJson({ ...line, says });
  else print(visible(says ?? ''));
}

/** Refusals, and what is parked in a workflow that runs no more. */
async function reopenable({ client }: Temporal, found: Unsettled[]): Promise<Unsettled[]> {
  const kept: Unsettled[] = [];
  for (const one of found) {
    if (one.outcome === 'REFUSED') kept.push(one);
    else {
      const status = await client.workflow
        .getHandle(one.workflowId)
        .describe()
        .then((description) => description.status.name)
        .catch((error: unknown) => {
          if (error instanceof WorkflowNotFoundError) return 'GONE';
          throw error;
        });
      if (status !== 'RUNNING') kept.push(one);
    }
  }
  return kept;
}

/** @throws UsageError naming the choices when there is more than one */
function choose(candidates: Unsettled[], attempt: string | undefined): Unsettled {
  const chosen =
    attempt === undefined ? candidates : candidates.filter((one) => String(one.attempt) === attempt);
  if (chosen.length === 1) return chosen[0]!;
  const choices = candidates.map(
    ({ attempt, outcome, command, decided }) =>
      `--attempt ${attempt}: ${command.legs.map((leg) => `${leg.inventoryStockId} ${leg.delta}`).join(', ')}` +
      ` (${outcome}${decided ? `, ${describeDecided(decided)}` : ''})`,
  );
  throw new UsageError(visible(`which one? ${choices.join('; ')}`));
}

async function startAgain(
  config: Config,
  { client }: Temporal,
  chosen: Unsettled,
  { actor, reason }: Options,
): Promise<string> {
  const { command, attempt, outcome } = chosen;
  const refused = outcome === 'REFUSED';
  // What is parked belongs to its workflow ID, whose next run takes it over; a refusal gets a workflow of its own,
  // the same one for everybody who re-opens it.
  const workflowId = refused ? reopenedWorkflowId(command, attempt) : chosen.workflowId;
  const reopening: Reopening = { attempt, actor, reason };
  try {
    await client.workflow.start('moveStock', {
      workflowId,
      taskQueue: config.TEMPORAL_TASK_QUEUE,
      args: refused ? [command, reopening] : [command],
      workflowIdReusePolicy: refused ? 'ALLOW_DUPLICATE_FAILED_ONLY' : 'ALLOW_DUPLICATE',
      workflowIdConflictPolicy: 'FAIL',
      ...describeCommand({ type: 'moveStock', input: command }),
    });
  } catch (error) {
    // Somebody else was faster: what became of it is shown below.
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
  }
  return workflowId;
}

/** Waits a moment for the workflow to end or to be parked. */
async function lookOn({ client }: Temporal, workflowId: string): Promise<{ outcome: string; says: string }> {
  const handle = client.workflow.getHandle(workflowId);
  for (const deadline = Date.now() + LOOK_MS; Date.now() < deadline; await sleep(100)) {
    const { status, searchAttributes } = await handle.describe();
    const shown = String(searchAttributes[SEARCH_ATTRIBUTES.outcome]?.[0] ?? '');
    if (status.name === 'COMPLETED') {
      const result = (await handle.result()) as MoveStockResult;
      const decided = 'decided' in result ? result.decided : undefined;
      return {
        outcome: result.outcome,
        says: decided ? `${result.outcome}, ${describeDecided(decided)}` : result.outcome,
      };
    }
    if (shown.startsWith('PARKED/')) return { outcome: 'PARKED', says: `parked again: ${shown.slice(7)}` };
    if (status.name !== 'RUNNING') return { outcome: status.name, says: `the workflow is ${status.name}` };
  }
  return { outcome: 'RUNNING', says: 'still under way' };
}
