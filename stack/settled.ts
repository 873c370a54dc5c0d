/** When everything published has had its effect. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { WorkflowExecutionDescription } from '@temporalio/client';
import { WorkflowNotFoundError } from '@temporalio/common';
import type { Kafka } from 'kafkajs';
import { openAdmin } from '../bridge/kafka';
import { createDecoder, type TopicName } from '../bridge/topics';
import { SEARCH_ATTRIBUTES, workflowIdOf } from '../commands';
import type { Config } from '../config';
import { IS_PARKED } from '../decisions';
import { topicPlan, topicSettings } from '../connections';
import type { Temporal } from '../temporal';

/** An event as it was published. */
export interface Published {
  topic: TopicName;
  value: string;
}

/** What the bridge's own rules make of events: one workflow ID per command, in order, and how many are ignored. */
export function decodeAll(
  config: Config,
  events: readonly Published[],
): { commands: string[]; ignored: number } {
  const settings = topicSettings(config);
  const decode = createDecoder(settings);
  const commands: string[] = [];
  let ignored = 0;
  for (const event of events) {
    const decoded = decode({
      topic: settings.topics[event.topic],
      partition: 0,
      offset: '0',
      timestamp: String(Date.now()),
      key: null,
      value: Buffer.from(event.value),
    });
    if (decoded.became === 'command') commands.push(workflowIdOf(decoded.command));
    else if (decoded.became === 'ignored') ignored++;
  }
  return { commands, ignored };
}

/**
 * Waits until the group has passed every record and every workflow has ended or is parked. Asks for each workflow by its ID,
 * because Temporal's lists are written a moment later than workflows change; what was started in a group has none.
 * @returns the ended and parked workflows among the given ones
 */
export async function settled(
  config: Config,
  kafka: Kafka,
  temporal: Temporal,
  workflowIds: readonly string[],
  options: { groupId?: string; onProgress?: (recordsBehind: number) => void; stop?: AbortSignal } = {},
): Promise<WorkflowExecutionDescription[]> {
  const admin = await openAdmin(kafka);
  try {
    for (;;) {
      let behind = 0;
      for (const topic of topicPlan(config).topics) {
        const committed = await admin.committed(options.groupId ?? config.KAFKA_GROUP_ID, topic);
        for (const { partition, low, high } of await admin.watermarks(topic)) {
          behind += Number(high - (committed.get(partition) ?? low));
        }
      }
      options.onProgress?.(behind);
      if (behind === 0 || options.stop?.aborted) break;
      await sleep(250);
    }
  } finally {
    await admin.close();
  }
  const running = `TaskQueue = '${config.TEMPORAL_TASK_QUEUE}' AND ExecutionStatus = 'Running'`;
  const count = async (query: string) => (await temporal.client.workflow.count(query)).count;
  for (let quiet = 0; quiet < 2 && !options.stop?.aborted; await sleep(300)) {
    // What waits for a person has had its effect: none.
    const parked = await count(`${running} AND ${IS_PARKED}`);
    quiet = (await count(running)) === parked ? quiet + 1 : 0;
  }
  const ended: WorkflowExecutionDescription[] = [];
  for (const id of new Set(workflowIds)) {
    for (;;) {
      const description = await describe(temporal, id);
      const settled = description && (description.status.name !== 'RUNNING' || isParked(description));
      if (settled) ended.push(description);
      if (!description || settled || options.stop?.aborted) break;
      await sleep(100);
    }
  }
  return ended;
}

/** Whether the workflow waits, or waited to its end, for a person. */
export function isParked({ searchAttributes }: WorkflowExecutionDescription): boolean {
  return String(searchAttributes[SEARCH_ATTRIBUTES.outcome]?.[0]).startsWith('PARKED/');
}

async function describe(temporal: Temporal, id: string): Promise<WorkflowExecutionDescription | undefined> {
  try {
    return await temporal.client.workflow.getHandle(id).describe();
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return undefined;
    throw error;
  }
}
