/**
 * Starts one workflow per command. A start is done when the workflow durably exists, whoever started it: only then
 * may the record's offset pass.
 */
import type { WorkflowClient } from '@temporalio/client';
import { isGrpcServiceError, WorkflowExecutionAlreadyStartedError } from '@temporalio/client';
import { NamespaceNotFoundError } from '@temporalio/common';
import { workflowIdOf } from '../commands';
import type { Command } from '../commands';
import type { Logger } from '../log';
import { metrics } from '../metrics';
import { describeCommand } from './describe';
import type { Description } from './describe';
import { Unavailable } from './records';
import type { PauseReason } from './records';
import { Throttle } from './throttle';
import { settlesWithin } from './waiting';

/** What the consumer needs. A starter may put many commands into one workflow behind the same promise. */
export interface Starter {
  /**
   * Resolves when a workflow that will carry out the command exists: `started` now, or a `duplicate` of one that
   * runs or has completed. Settles within bounded time.
   * @param signal aborted when nobody waits any more; what was not sent yet is then not sent
   * @throws StartUnavailable when trying again later can help
   */
  start(command: Command, signal?: AbortSignal): Promise<'started' | 'duplicate'>;
}

export interface LauncherSettings {
  /**
   * For eager starts its connection is the worker's `NativeConnection`. Otherwise a `Connection` made with
   * `interceptors: []`: the client's own retries would hide throttling until the deadline.
   */
  client: WorkflowClient;
  taskQueue: string;
  /** Ask Temporal to hand the first workflow task to the worker in this process: saves a round over the queue. */
  eager: boolean;
  /** Starts in flight, over all partitions. */
  concurrency: number;
  /** Set search attributes; they have to be registered (`inventory setup`). */
  searchAttributes: boolean;
  /** Deadline of one call; below the consumer's `settleMs`. */
  callTimeoutMs?: number;
  log: Logger;
}

/** The workflow could not be started, for a reason that has nothing to do with the command. */
export class StartUnavailable extends Unavailable {
  override readonly name = 'StartUnavailable';
}

/** A workflow to start. */
export interface Launch {
  type: string;
  workflowId: string;
  input: unknown;
  /** What the Web UI shows of it. */
  description: Pick<Description, 'staticSummary' | 'staticDetails'> & Partial<Description>;
}

/** Starts one workflow; as {@link Starter.start}. */
export type Launcher = (launch: Launch, signal?: AbortSignal) => Promise<'started' | 'duplicate'>;

/** One workflow per command. */
export function createStarter(launch: Launcher): Starter {
  return {
    start: (command, signal) =>
      launch(
        {
          type: command.type,
          workflowId: workflowIdOf(command),
          input: command.input,
          description: describeCommand(command),
        },
        signal,
      ),
  };
}

export function createLauncher(settings: LauncherSettings): Launcher {
  const { client, callTimeoutMs = 4_000, log } = settings;
  const throttle = new Throttle(settings.concurrency);
  let attributes = settings.searchAttributes;

  async function call(launch: Launch): Promise<'started' | 'duplicate'> {
    const { workflowId } = launch;
    const { typedSearchAttributes, ...told } = launch.description;
    try {
      await answered(callTimeoutMs, () =>
        client.start(launch.type, {
          workflowId,
          taskQueue: settings.taskQueue,
          args: [launch.input],
          // A failed or terminated workflow may be started again by a redelivery; the ledger knows what it did.
          workflowIdReusePolicy: 'ALLOW_DUPLICATE_FAILED_ONLY',
          workflowIdConflictPolicy: 'FAIL',
          requestEagerStart: settings.eager,
          ...told,
          ...(attributes ? { typedSearchAttributes } : {}),
        }),
      );
      throttle.worked();
      return 'started';
    } catch (error) {
      if (error instanceof WorkflowExecutionAlreadyStartedError) return 'duplicate';
      const { code, text } = grpc(error);
      if (attributes && code === INVALID_ARGUMENT && /search attribute/i.test(text)) {
        // Stock must move although nobody can search for it; a workflow cannot get them later by itself.
        attributes = false;
        log.warn(
          { answer: text },
          'starting without search attributes from now on; run "inventory setup" and restart',
        );
        return call(launch);
      }
      if (code === RESOURCE_EXHAUSTED) {
        throttle.slower();
        // Temporal also answers this when one ID comes twice within a moment, and then the workflow is there.
        if (await exists(workflowId)) return 'duplicate';
      }
      throw unavailable(error);
    }
  }

  /**
   * Bounded by our own clock as well: the worker's connection counts its deadline anew for each of its retries,
   * and took 10 s to report a server that was gone. A late answer is not lost: the redelivery finds a duplicate.
   */
  async function answered<T>(withinMs: number, request: () => Promise<T>): Promise<T> {
    const answer = client.withDeadline(Date.now() + withinMs, request);
    if (await settlesWithin(answer, withinMs + 200)) return answer;
    metrics.startRetries.inc({ status: 'DEADLINE_EXCEEDED' });
    throw new StartUnavailable('temporal-unavailable', `DEADLINE_EXCEEDED: no answer within ${withinMs} ms`);
  }

  async function exists(workflowId: string): Promise<boolean> {
    try {
      const found = await answered(1_000, () => client.getHandle(workflowId).describe());
      return found.status.name === 'RUNNING' || found.status.name === 'COMPLETED';
    } catch {
      return false;
    }
  }

  return async (launch, signal) => {
    const result = await throttle.run(() => call(launch), signal);
    if (result === 'aborted')
      throw new StartUnavailable('temporal-unavailable', 'not sent: the batch is stopping');
    if (!attributes && settings.searchAttributes) metrics.attributesMissing.inc();
    return result;
  };
}

const INVALID_ARGUMENT = 3;
const RESOURCE_EXHAUSTED = 8;

/** gRPC's status names by code. */
const STATUS = [
  ...['OK', 'CANCELLED', 'UNKNOWN', 'INVALID_ARGUMENT', 'DEADLINE_EXCEEDED', 'NOT_FOUND', 'ALREADY_EXISTS'],
  ...[
    'PERMISSION_DENIED',
    'RESOURCE_EXHAUSTED',
    'FAILED_PRECONDITION',
    'ABORTED',
    'OUT_OF_RANGE',
    'UNIMPLEMENTED',
  ],
  ...['INTERNAL', 'UNAVAILABLE', 'DATA_LOSS', 'UNAUTHENTICATED'],
];

/** Statuses that a person has to see to; all others but INVALID_ARGUMENT go away by themselves. */
const REFUSALS = new Set([
  'NOT_FOUND',
  'PERMISSION_DENIED',
  'UNAUTHENTICATED',
  'UNIMPLEMENTED',
  'FAILED_PRECONDITION',
]);

/** The status somewhere in an error's causes, and what it says: the two kinds of connection put it in two places. */
function grpc(error: unknown): { code?: number; text: string } {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (isGrpcServiceError(cause)) return { code: cause.code, text: cause.details || cause.message };
  }
  return { text: error instanceof Error ? error.message : String(error) };
}

/** A `StartUnavailable`, or another error where only a bug of ours can be the reason. */
function unavailable(error: unknown): unknown {
  if (error instanceof StartUnavailable) return error;
  const { code, text } = grpc(error);
  const missing = error instanceof NamespaceNotFoundError;
  const status = missing ? 'NOT_FOUND' : code === undefined ? undefined : (STATUS[code] ?? String(code));
  metrics.startRetries.inc({ status: status ?? 'NONE' });
  // Not even a status, or a request that Temporal calls malformed: this program made it so.
  if (status === undefined || code === INVALID_ARGUMENT)
    return new Error(`cannot start: ${text}`, { cause: error });
  let reason: PauseReason = 'temporal-unavailable';
  if (REFUSALS.has(status)) reason = 'temporal-refused';
  if (code === RESOURCE_EXHAUSTED) reason = 'temporal-throttled';
  const message = missing ? `Temporal has no namespace ${error.namespace}` : text;
  return new StartUnavailable(reason, `${status}: ${message}`, { cause: error });
}
