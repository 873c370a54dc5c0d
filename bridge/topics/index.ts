/**
 * From a Kafka record to what it asks for: the routing table, and the rules that all topics share.
 */
import { kitchenTicketItemStatusChanged } from './kitchenTicketItemStatusChanged';
import { MessageFault } from './fault';
import { parseBytes } from './json';
import { materialTransferred } from './materialTransferred';
import { merchant } from './merchant';
import { paymentSuccess } from './paymentSuccess';
import { productVariant } from './productVariant';
import { purchaseOrderReceived } from './purchaseOrderReceived';
import {
  ignored,
  TOPIC_NAMES,
  type Decoded,
  type KafkaRecord,
  type Topic,
  type TopicName,
  type TopicSettings,
} from './topic';

export { IGNORED_REASONS, TOPIC_NAMES } from './topic';
export type { Decoded, IgnoredReason, KafkaRecord, TopicName, TopicSettings } from './topic';

/** Every topic, by the name that settings and contract know it by. */
export const TOPICS: Record<TopicName, Topic> = {
  PAYMENT_SUCCESS: paymentSuccess,
  KITCHEN_TICKET_ITEM_STATUS_CHANGED: kitchenTicketItemStatusChanged,
  MATERIAL_TRANSFERRED: materialTransferred,
  PURCHASE_ORDER_RECEIVED: purchaseOrderReceived,
  MERCHANT: merchant,
  PRODUCT_VARIANT: productVariant,
};

/**
 * Makes the function that decodes records of the given topics. It is pure: the same record always becomes the same.
 * No bytes make it throw; it throws on a record of a topic it was not given, and on a bug, which is true of every
 * such record and therefore no dead letter.
 * @throws Error when two topics share a name
 */
export function createDecoder(settings: TopicSettings): (record: KafkaRecord) => Decoded {
  const routes = new Map<string, Topic>();
  for (const name of TOPIC_NAMES) {
    const kafkaName = settings.topics[name];
    if (routes.has(kafkaName)) throw new Error(`Topic ${kafkaName} is set for ${name} and for another event`);
    routes.set(kafkaName, TOPICS[name]);
  }
  return (record) => {
    const topic = routes.get(record.topic);
    if (topic === undefined) throw new Error(`No event is set for topic ${record.topic}`);
    try {
      return decode(topic, record, settings);
    } catch (error) {
      if (error instanceof MessageFault) return { became: 'dead-letter', reason: error.message };
      throw error;
    }
  };
}

function decode(topic: Topic, record: KafkaRecord, settings: TopicSettings): Decoded {
  // First of all, so that a huge record costs nothing.
  refuseLarge('key', record.key, settings.maxEventBytes);
  refuseLarge('value', record.value, settings.maxEventBytes);
  if (record.value === null) {
    if (topic.nullValue !== undefined) return ignored(topic.nullValue);
    throw new MessageFault('value', 'null', 'send the event; this topic has no tombstones');
  }
  return topic.decode(parseBytes(record.value, 'value'), record, settings);
}

function refuseLarge(name: string, bytes: Buffer | null, maxEventBytes: number): void {
  if (bytes === null || bytes.length <= maxEventBytes) return;
  const problem = `${bytes.length} bytes, more than the ${maxEventBytes} that are allowed`;
  throw new MessageFault(name, problem, 'send a smaller event or raise the limit');
}
