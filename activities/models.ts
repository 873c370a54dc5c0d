/**
 * The four collections. Mongoose holds their shapes and indexes; reads and writes go straight to the driver,
 * because a hydrated document that is saved again on a retried transaction writes nothing.
 */
import os from 'node:os';
import mongoose, { Schema, type Connection } from 'mongoose';
import type { ReferenceType, Source } from '../commands';

export const Decimal128 = mongoose.mongo.Decimal128;
export type Decimal128 = mongoose.mongo.BSON.Decimal128;
export const Long = mongoose.mongo.Long;
export type Long = mongoose.mongo.BSON.Long;
export type Collection<T extends { _id: string }> = mongoose.mongo.Collection<T>;

/** A row of the ledger. Never updated, never deleted: a correction is a further entry. */
export interface TrackingEntry {
  /** The idempotency key, see `trackingId`: its index is what makes a second posting impossible. */
  _id: string;
  referenceType: ReferenceType;
  referenceId: string;
  inventoryStockId: string;
  /** 1, and one more for each correction or re-opening of the same reference. */
  attempt: number;
  /** Effect on the stock. */
  delta: Decimal128;
  /** The stock's balance after this entry. */
  onHandAfter: Decimal128;
  /** Position in the chain of this stock's entries, from 1, without gaps. */
  sequence: number;
  outcome: 'APPLIED';
  /** Applied although it took the stock below zero. */
  belowZero: boolean;
  occurredAt: Date;
  recordedAt: Date;
  /** Where the event stands in Kafka; the offset is a number here so that spans can be queried. */
  source: Omit<Source, 'offset'> & { offset: Long };
  workflowId: string;
  /** Tells a second try of the same run, whose answer was lost, from a redelivery. */
  runId: string;
}

/** `onHand` may be any BSON number, and `sequence` may be missing, in a document brought in from elsewhere. */
export interface InventoryStock {
  _id: string;
  onHand: Decimal128 | Long | number | bigint;
  sequence?: number;
  itemId?: string;
  locationId?: string;
}

export interface InventoryItem {
  _id: string;
}

export interface InventoryLocation {
  _id: string;
  merchantId: string;
}

export interface Database {
  connection: Connection;
  tracking: Collection<TrackingEntry>;
  stocks: Collection<InventoryStock>;
  items: Collection<InventoryItem>;
  locations: Collection<InventoryLocation>;
}

const options = { autoIndex: false, autoCreate: false, versionKey: false } as const;
const text = { type: String, required: true } as const;
const decimal = { type: Schema.Types.Decimal128, required: true } as const;

const trackingSchema = new Schema(
  {
    _id: text,
    referenceType: text,
    referenceId: text,
    inventoryStockId: text,
    attempt: { type: Number, required: true },
    delta: decimal,
    onHandAfter: decimal,
    sequence: { type: Number, required: true },
    outcome: text,
    belowZero: { type: Boolean, required: true },
    occurredAt: { type: Date, required: true },
    recordedAt: { type: Date, required: true },
    source: { topic: text, partition: Number, offset: Schema.Types.BigInt },
    workflowId: text,
    runId: text,
  },
  { ...options, collection: 'inventory_tracking' },
);
// The chain of a stock: `trace` walks it, and unique keeps two entries from claiming one place in it.
trackingSchema.index({ inventoryStockId: 1, sequence: 1 }, { name: 'stock_chain', unique: true });
// All entries of a document, whatever its stocks: how an edited document is told from a new one.
trackingSchema.index({ referenceId: 1 }, { name: 'reference' });

const stockSchema = new Schema(
  { _id: text, onHand: decimal, sequence: Number, itemId: String, locationId: String },
  { ...options, collection: 'inventory_stock' },
);
const itemSchema = new Schema({ _id: text }, { ...options, collection: 'inventory_item' });
const locationSchema = new Schema(
  { _id: text, merchantId: text },
  { ...options, collection: 'inventory_location' },
);

/**
 * Connects to MongoDB.
 * @param url a replica set or sharded cluster, with the database in its path
 * @throws Error when no server answers within 5 s
 */
export async function connectDatabase(url: string): Promise<Database> {
  const connection = await mongoose
    .createConnection(url, {
      autoIndex: false,
      autoCreate: false,
      bufferCommands: false,
      // A frozen server must not hold an activity beyond its transaction's cap.
      socketTimeoutMS: 5_000,
      serverSelectionTimeoutMS: 5_000,
      maxPoolSize: 20,
      // The driver would import it dynamically, which fails without a word inside Jest's module sandbox.
      runtimeAdapters: { os },
    })
    .asPromise()
    .catch((error: unknown) => {
      throw new Error(
        `MongoDB does not answer (${(error as Error).message}); check MONGO_URL and that the server runs`,
        { cause: error },
      );
    });
  return openDatabase(connection);
}

/** The collections on a connection that is already open. */
export function openDatabase(connection: Connection): Database {
  const collection = <T extends { _id: string }>(name: string, schema: Schema): Collection<T> =>
    (connection.models[name] ?? connection.model(name, schema)).collection as unknown as Collection<T>;
  return {
    connection,
    tracking: collection<TrackingEntry>('InventoryTracking', trackingSchema),
    stocks: collection<InventoryStock>('InventoryStock', stockSchema),
    items: collection<InventoryItem>('InventoryItem', itemSchema),
    locations: collection<InventoryLocation>('InventoryLocation', locationSchema),
  };
}
