/**
 * The collections. Mongoose holds their shapes and indexes; reads and writes go straight to the driver,
 * because a hydrated document that is saved again on a retried transaction writes nothing.
 */
import os from 'node:os';
import mongoose, { Schema, type Connection } from 'mongoose';
import type { Adjustment, ReferenceType, Source } from '../commands';
import type { Case, Decided } from '../decisions';
import type { ArchivedEntry } from './archivedEntry';
import { connectFault } from './mongoFault';

export const Decimal128 = mongoose.mongo.Decimal128;
export type Decimal128 = mongoose.mongo.BSON.Decimal128;
export const Long = mongoose.mongo.Long;
export type Long = mongoose.mongo.BSON.Long;
export const Binary = mongoose.mongo.Binary;
export type Binary = mongoose.mongo.BSON.Binary;
export type Collection<T extends { _id: string }> = mongoose.mongo.Collection<T>;

/**
 * A row of the ledger. Never changed, and never lost: parking, a decision and a correction are further entries, and
 * `archive` only moves old ones to a collection beside it. Read them with `entriesOf`, which knows both.
 */
export type TrackingEntry = EffectEntry | NoteEntry;

interface Entry {
  /** The idempotency key, see `trackingId`: its index is what makes a second posting impossible. */
  _id: string;
  referenceType: ReferenceType;
  referenceId: string;
  inventoryStockId: string;
  /** Entries of one reference that were written together share a number: 1, 2, 3 and so on. */
  attempt: number;
  /** Place within the attempt, from 0. Each attempt has a place 0, so no two writers can claim one attempt. */
  line: number;
  /** Effect on the stock. */
  delta: Decimal128;
  /** Applied although it took the stock below zero. */
  belowZero: boolean;
  occurredAt: Date;
  recordedAt: Date;
  /** Where the event stands in Kafka; the offset is a number here so that spans can be queried. */
  source: Omit<Source, 'offset'> & { offset: Long };
  workflowId: string;
  /** Tells a second try of the same run, whose answer was lost, from a redelivery. */
  runId: string;
  /** Where a person's word, or the deadline's, is behind the attempt. */
  decision?: Decided['decision'];
  actor?: string;
  reason?: string;
  /** What a person counted, where an adjustment came of it. */
  counted?: Decimal128;
}

/** Changed its stock. */
export interface EffectEntry extends Entry {
  outcome: 'APPLIED';
  /** The stock's balance after this entry. */
  onHandAfter: Decimal128;
  /** Position in the chain of this stock's entries, from 1, without gaps. */
  sequence: number;
  /** The attempt whose total it corrects; `delta` is then the difference. */
  correctionOf?: number;
  /** It accounts for a change made without an entry, see `Adjustment`; the stock was not changed by it. */
  repairs?: NonNullable<Adjustment['repairs']>;
}

/** Takes the key and changes nothing: `delta` is 0. The stock need not exist. */
export interface NoteEntry extends Entry {
  outcome: 'PARKED' | 'REFUSED';
  /** What the document asks of this stock. */
  asked: Decimal128;
  /** PARKED: why. */
  case?: Case;
}

/** `onHand` may be any BSON number, and `sequence` may be missing, in a document brought in from elsewhere. */
export interface InventoryStock {
  _id: string;
  onHand: Decimal128 | Long | number | bigint;
  sequence?: number;
  itemId?: string;
  locationId?: string;
}

/** Where the chain of a stock begins that has entries in the archive. */
export interface Opening {
  /** The stock. */
  _id: string;
  /** Archived entries of the chain, and the highest sequence among them. */
  archived: number;
  last: number;
  /**
   * Every entry up to this sequence is archived, and all is explained up to here; 0 when that is true of none. What
   * is archived beyond has entries before it that are not.
   */
  sequence: number;
  /** After entry `sequence`. */
  balance: Decimal128;
  /** Entries up to `sequence`, and the sum of their deltas. */
  entries: number;
  sum: Decimal128;
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
  /** Entries that `archive` has moved. */
  archive: Collection<ArchivedEntry>;
  openings: Collection<Opening>;
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
    line: { type: Number, required: true },
    delta: decimal,
    asked: Schema.Types.Decimal128,
    onHandAfter: Schema.Types.Decimal128,
    sequence: Number,
    outcome: text,
    case: String,
    correctionOf: Number,
    decision: String,
    actor: String,
    reason: String,
    counted: Schema.Types.Decimal128,
    repairs: { sequence: Number, missingFrom: Number },
    belowZero: { type: Boolean, required: true },
    occurredAt: { type: Date, required: true },
    recordedAt: { type: Date, required: true },
    source: { topic: text, partition: Number, offset: Schema.Types.BigInt },
    workflowId: text,
    runId: text,
  },
  { ...options, collection: 'inventory_tracking' },
);
/** Only entries that changed a stock have a place in its chain; a query on the chain must say so to use its index. */
export const IN_CHAIN = { sequence: { $exists: true } } as const;
// The chain of a stock: `trace` walks it, and unique keeps two entries from claiming one place in it.
trackingSchema.index(
  { inventoryStockId: 1, sequence: 1 },
  { name: 'stock_chain', unique: true, partialFilterExpression: IN_CHAIN },
);
// All entries of a document, whatever its stocks: how an edited document is told from a new one. Unique, because
// two versions of a document without a stock in common would otherwise not notice each other when they are posted
// at the same moment: a snapshot does not show what is being inserted beside it.
trackingSchema.index(
  { referenceId: 1, referenceType: 1, attempt: 1, line: 1 },
  { name: 'reference_attempt', unique: true },
);

const archiveSchema = new Schema(
  { _id: text, s: text, d: decimal, b: Schema.Types.Decimal128, n: Number },
  { ...options, collection: 'inventory_archive' },
);
/** As {@link IN_CHAIN}, of archived entries. */
export const IN_ARCHIVED_CHAIN = { n: { $gt: 0 } } as const;
// The only index beside the key: a place in a chain is archived once.
archiveSchema.index(
  { s: 1, n: 1 },
  { name: 'stock_chain', unique: true, partialFilterExpression: { n: { $exists: true } } },
);
const openingSchema = new Schema(
  {
    _id: text,
    archived: Number,
    last: Number,
    sequence: Number,
    balance: decimal,
    entries: Number,
    sum: decimal,
  },
  { ...options, collection: 'inventory_opening' },
);

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
 * @param socketTimeoutMS how long one answer may take before the connection is given up; 0: as long as it takes, for
 *   building indexes and the like
 * @throws Error when no server answers within 5 s, or it does not let us in
 */
export async function connectDatabase(url: string, socketTimeoutMS = 0): Promise<Database> {
  const connection = await mongoose
    .createConnection(url, {
      autoIndex: false,
      autoCreate: false,
      bufferCommands: false,
      socketTimeoutMS,
      serverSelectionTimeoutMS: 5_000,
      // 5, 20 and 100 were as fast, grouped and single, and a server pays for each connection.
      maxPoolSize: 20,
      // The driver would import it dynamically, which fails without a word inside Jest's module sandbox.
      runtimeAdapters: { os },
    })
    .asPromise()
    .catch((error: unknown) => {
      throw new Error(connectFault(error), { cause: error });
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
    archive: collection<ArchivedEntry>('InventoryArchive', archiveSchema),
    openings: collection<Opening>('InventoryOpening', openingSchema),
    stocks: collection<InventoryStock>('InventoryStock', stockSchema),
    items: collection<InventoryItem>('InventoryItem', itemSchema),
    locations: collection<InventoryLocation>('InventoryLocation', locationSchema),
  };
}
