/**
 * What every topic file builds on: the record as Kafka gives it, and the three things it can become.
 */
import type { z } from 'zod';
import type { Command } from '../../commands';
import type { Json } from './json';

/** One Kafka record as any client gives it. Key and value may be null, header values may repeat. */
export interface KafkaRecord {
  topic: string;
  partition: number;
  /** Decimal text: it is a 64-bit number. */
  offset: string;
  /** Milliseconds since 1970 as decimal text. */
  timestamp: string;
  key: Buffer | null;
  value: Buffer | null;
  headers?: Record<string, Buffer | string | (Buffer | string)[] | undefined>;
}

/** Why a record asks for nothing. A closed set, so that each is safe as a metric label. */
export const IGNORED_REASONS = [
  /** Kitchen: this status consumes nothing. */
  'status-does-not-consume',
  /** The document says, with an empty list, that nothing it holds is tracked as stock. */
  'no-lines',
  'no-materials',
  /** The transfer's lines undo each other on every stock. */
  'transfer-nets-to-zero',
  /** CDC: what is not a row that was created, changed or read. */
  'tombstone',
  'delete',
  'truncate',
  'message',
  'heartbeat',
  'transaction-marker',
  'schema-change',
  /** CDC: an update that carries neither the row nor the fields that are needed. */
  'update-without-row',
  /** CDC: the connector left a needed field out because it did not change. */
  'unavailable-value',
] as const;
export type IgnoredReason = (typeof IGNORED_REASONS)[number];

/** What a record became: exactly one of these. `reason` of a dead letter is bounded and safe to print. */
export type Decoded =
  | { became: 'command'; command: Command }
  | { became: 'ignored'; reason: IgnoredReason }
  | { became: 'dead-letter'; reason: string };

export const TOPIC_NAMES = [
  'PAYMENT_SUCCESS',
  'KITCHEN_TICKET_ITEM_STATUS_CHANGED',
  'MATERIAL_TRANSFERRED',
  'PURCHASE_ORDER_RECEIVED',
  'MERCHANT',
  'PRODUCT_VARIANT',
] as const;
export type TopicName = (typeof TOPIC_NAMES)[number];

export interface TopicSettings {
  /** Kafka's name of each topic. */
  topics: Record<TopicName, string>;
  /** Kitchen statuses that consume material, compared exactly. */
  consumingStatuses: readonly string[];
  /** A larger key or value is a dead letter, unread. */
  maxEventBytes: number;
}

/** One topic: its published contract, examples that keep to it, and how an event of it is read. */
export interface Topic {
  contract: z.ZodType;
  examples: readonly unknown[];
  /**
   * What a null value is: a tombstone of the CDC topics. Without it null is a fault, because the event topics
   * delete nothing, and a serializer that failed is the usual cause.
   */
  nullValue?: IgnoredReason;
  /** @throws MessageFault when the event itself is at fault. */
  decode(event: Json, record: KafkaRecord, settings: TopicSettings): Decoded;
}

export function ignored(reason: IgnoredReason): Decoded {
  return { became: 'ignored', reason };
}

export function commanded(command: Command): Decoded {
  return { became: 'command', command };
}
