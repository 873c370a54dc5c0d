/** What Temporal did: workflows, history events, and the actions that a hosted Temporal would bill. */
import { Client, Connection } from '@temporalio/client';
import { setTimeout as sleep } from 'node:timers/promises';

export interface TemporalCost {
  workflows: number;
  historyEvents: number;
  /** Counted from histories, a sample of each workflow type, by the published rules. */
  actions: number;
}

/** A look at the workflows of one task queue. */
export interface Histories {
  /** Close time in epoch milliseconds by workflow ID. */
  closed(since: Date): Promise<Map<string, number>>;
  closedCount(since: Date): Promise<number>;
  /** Waits until none runs and the lists, which are written a moment later, have stopped growing. */
  cost(since: Date): Promise<TemporalCost>;
  close(): Promise<void>;
}

const SAMPLE = 3;

export async function openHistories(address: string, taskQueue: string): Promise<Histories> {
  const connection = await Connection.connect({ address });
  const { workflow } = new Client({ connection });
  const query = (since: Date, more = '') =>
    `TaskQueue = '${taskQueue}' AND StartTime >= '${since.toISOString()}'${more}`;
  const count = async (since: Date, more: string) => (await workflow.count(query(since, more))).count;
  const COMPLETED = " AND ExecutionStatus = 'Completed'";

  async function cost(since: Date): Promise<TemporalCost> {
    for (let before = -1, tries = 0; tries < 100; tries++) {
      const all = await count(since, '');
      if (all === before && (await count(since, " AND ExecutionStatus = 'Running'")) === 0) break;
      before = all;
      await sleep(400);
    }
    const types = new Map<string, { workflows: number; historyEvents: number; sample: string[] }>();
    for await (const info of workflow.list({ query: query(since), pageSize: 1_000 })) {
      const one = types.get(info.type) ?? { workflows: 0, historyEvents: 0, sample: [] };
      one.workflows++;
      one.historyEvents += info.historyLength;
      if (one.sample.length < SAMPLE) one.sample.push(info.workflowId);
      types.set(info.type, one);
    }
    const total: TemporalCost = { workflows: 0, historyEvents: 0, actions: 0 };
    for (const { workflows, historyEvents, sample } of types.values()) {
      const actions = await Promise.all(
        sample.map(async (id) => actionsOf((await workflow.getHandle(id).fetchHistory()).events ?? [])),
      );
      total.workflows += workflows;
      total.historyEvents += historyEvents;
      total.actions += (workflows * actions.reduce((sum, one) => sum + one, 0)) / actions.length;
    }
    return total;
  }

  return {
    closed: async (since) => {
      const times = new Map<string, number>();
      for await (const { workflowId, closeTime } of workflow.list({ query: query(since), pageSize: 1_000 })) {
        if (closeTime) times.set(workflowId, closeTime.getTime());
      }
      return times;
    },
    closedCount: (since) => count(since, COMPLETED),
    cost,
    close: () => connection.close(),
  };
}

/** One action for each start, activity, timer, signal, update and upsert; local activities count once per task. */
function actionsOf(events: readonly object[]): number {
  let actions = 0;
  let localInTask = false;
  for (const event of events) {
    const is = (name: string) => Boolean((event as Record<string, unknown>)[`${name}EventAttributes`]);
    if (is('workflowTaskCompleted')) localInTask = false;
    if (is('markerRecorded') && !localInTask) {
      localInTask = true;
      actions++;
    }
    const billed = [
      'workflowExecutionStarted',
      'activityTaskScheduled',
      'timerStarted',
      'workflowExecutionSignaled',
      'workflowExecutionUpdateAccepted',
      'upsertWorkflowSearchAttributes',
      'startChildWorkflowExecutionInitiated',
    ];
    if (billed.some(is)) actions++;
  }
  return actions;
}
