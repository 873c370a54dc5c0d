/** Judges what a record became: exactly one of three, well formed, bounded, safe to print, no prototype touched. */
import fc from 'fast-check';
import {
  createDecoder,
  IGNORED_REASONS,
  TOPIC_NAMES,
  TOPICS,
  type Decoded,
  type KafkaRecord,
  type TopicName,
} from '../bridge/topics';
import { workflowIdOf } from '../commands';

export const topics = Object.fromEntries(TOPIC_NAMES.map((name) => [name, name])) as Record<
  TopicName,
  string
>;
export const settings = { topics, consumingStatuses: ['PREPARING'], maxEventBytes: 262_144 };
export const decode = createDecoder(settings);
/** Without the size limit, so that what stands behind it is tried as well. */
export const decodeAnySize = createDecoder({ ...settings, maxEventBytes: 64 * 1024 * 1024 });

export function record(topic: string, value: Buffer | string | null, key: Buffer | null = null): KafkaRecord {
  return {
    topic,
    partition: 0,
    offset: '7',
    timestamp: '1769860800000',
    key,
    value: value === null ? null : Buffer.from(value),
  };
}

export const REASON_LIMIT = 600;
export const untouched = Object.getOwnPropertyNames(Object.prototype).join();

/** The promise of this file, for one record. */
export function judged(decoded: Decoded): Decoded {
  switch (decoded.became) {
    case 'command':
      expect(workflowIdOf(decoded.command).length).toBeLessThanOrEqual(1_000);
      expect(decoded.command.input.schema).toBe(1);
      if (decoded.command.type === 'moveStock') {
        const { legs, occurredAt } = decoded.command.input;
        expect(new Date(occurredAt).toISOString()).toBe(occurredAt);
        expect(legs.length).toBeGreaterThan(0);
        for (const leg of legs) {
          expect(leg.delta).toMatch(/^-?(0|[1-9]\d{0,14})(\.\d{0,5}[1-9])?$/);
          expect(leg.delta).not.toMatch(/^-?0$/);
          expect(leg.inventoryStockId).toMatch(/^[^\p{Cc}\p{Cs}]{1,120}$/u);
        }
        const ids = legs.map((leg) => leg.inventoryStockId);
        expect(ids).toEqual([...new Set(ids)].sort());
      }
      break;
    case 'ignored':
      expect(IGNORED_REASONS).toContain(decoded.reason);
      break;
    case 'dead-letter':
      expect(decoded.reason.length).toBeLessThan(REASON_LIMIT);
      expect(decoded.reason).toMatch(/^[\w.[\]]+: .+/);
      expect(decoded.reason).not.toMatch(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u);
      break;
  }
  expect(Object.getOwnPropertyNames(Object.prototype).join()).toBe(untouched);
  return decoded;
}

export const onEveryTopic = (value: Buffer | string | null, key?: Buffer | null) =>
  TOPIC_NAMES.map((topic) => judged(decodeAnySize(record(topic, value, key))));

export const isDeadLetter = ({ became }: Decoded) => became === 'dead-letter';
export const examples = TOPIC_NAMES.flatMap((topic) =>
  TOPICS[topic].examples.map((example) => ({ topic, text: JSON.stringify(example) })),
);
export const anyExample = fc.constantFrom(...examples);
