/** Records of the event topics, and what tests expect them to become. */
import { createDecoder, TOPIC_NAMES, type Decoded, type KafkaRecord, type TopicName } from '../bridge/topics';

export const topics = Object.fromEntries(TOPIC_NAMES.map((name) => [name, `shop.${name}`])) as Record<
  TopicName,
  string
>;
export const settings = {
  topics,
  consumingStatuses: ['PREPARING', 'READY', 'SERVED'],
  maxEventBytes: 262_144,
};
export const decode = createDecoder(settings);

export function record(topic: TopicName, value: unknown, more: Partial<KafkaRecord> = {}): KafkaRecord {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return {
    topic: topics[topic],
    partition: 3,
    offset: '42',
    timestamp: '1769860800000',
    key: null,
    value: Buffer.from(text),
    ...more,
  };
}

export function commandOf(decoded: Decoded) {
  if (decoded.became !== 'command') throw new Error(`expected a command, got ${JSON.stringify(decoded)}`);
  return decoded.command;
}

export function legsOf(topic: TopicName, value: unknown) {
  const command = commandOf(decode(record(topic, value)));
  if (command.type !== 'moveStock') throw new Error(command.type);
  return command.input.legs.map((leg) => [leg.inventoryStockId, leg.delta]);
}

export function reasonOf(topic: TopicName, value: unknown): string {
  const decoded = decode(record(topic, value));
  if (decoded.became !== 'dead-letter')
    throw new Error(`expected a dead letter, got ${JSON.stringify(decoded)}`);
  return decoded.reason;
}

export const sale = (line: object, more: object = {}) => ({
  saleOrderId: 'SO-1',
  lines: [{ stockId: 'S', quantity: '1', ...line }],
  ...more,
});
