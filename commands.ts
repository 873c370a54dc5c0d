/**
 * READ FIRST. The words of this product as types, and the one place where keys and IDs are made.
 *
 * - **event**: what Kafka delivers. **command**: what the bridge asks of a workflow, made from an event.
 * - **reference**: the business document a command belongs to, `(referenceType, referenceId)`.
 * - **leg**: one signed quantity on one stock. A command holds one leg per stock, in stock-ID order.
 * - **idempotency key** of a leg: `(referenceType, referenceId, inventoryStockId)`.
 * - **tracking entry**: the leg's row in the ledger (collection `inventory_tracking`), append-only.
 * - **outcome** of a command: see {@link Outcome}.
 *
 * Workflows import this file, so everything in it is deterministic: no clock, no randomness, no input/output.
 */
import { sha256 } from '@noble/hashes/sha2';
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils';
import type { Decided, Hindrance, Parked } from './decisions';

export const REFERENCE_TYPES = [
  'SALE_ORDER',
  'PURCHASE_ORDER',
  'KITCHEN_TICKET_ITEM',
  'MATERIAL_TRANSFER',
  'ADJUSTMENT',
] as const;
export type ReferenceType = (typeof REFERENCE_TYPES)[number];

/** Where the event of a command stands in Kafka. `offset` is decimal text: it is a 64-bit number. */
export interface Source {
  topic: string;
  partition: number;
  offset: string;
}

/** One signed quantity on one stock; `delta` is a decimal in canonical text such as `-2.5`, never `-2.50`. */
export interface Leg {
  inventoryStockId: string;
  delta: string;
}

/** Moves stock: every leg or none. */
export interface MoveStock {
  /** Version of this shape; a worker refuses one it does not know instead of guessing. */
  schema: 1;
  referenceType: ReferenceType;
  referenceId: string;
  /** One per stock, in stock-ID order (code units), none zero. */
  legs: Leg[];
  /** When it happened in the business, ISO 8601 in UTC. */
  occurredAt: string;
  source: Source;
  /** `ADJUSTMENT` only; such a command has one leg. */
  adjustment?: Adjustment;
}

/** A change that no event asked for but a person: who and why, and how its leg is meant. */
export interface Adjustment {
  actor: string;
  reason: string;
  /** The person counted this quantity. */
  counted?: string;
  /** The balance that `delta` starts from: when the stock stands otherwise by now, nothing is written. */
  expectOnHand?: string;
  /**
   * The leg accounts for what the balance moved by, right before entry `sequence`, without an entry; entries from
   * `missingFrom` on are missing there. The stock itself stays as it is; `delta` may be zero.
   */
  repairs?: { sequence: number; missingFrom?: number };
}

/** Where adjustments come from: no topic can have this name. */
export const ADJUSTMENT_SOURCE: Source = { topic: '(adjustment)', partition: 0, offset: '0' };

/** Asks that the merchant's default location exists. */
export interface EnsureDefaultLocation {
  schema: 1;
  merchantId: string;
  source: Source;
}

/** Asks that the variant's item exists, and its stock at the merchant's default location. */
export interface EnsureInventoryItem {
  schema: 1;
  variantId: string;
  merchantId: string;
  source: Source;
}

/** A command with the name of the workflow type that carries it out. */
export type Command =
  | { type: 'moveStock'; input: MoveStock }
  | { type: 'ensureDefaultLocation'; input: EnsureDefaultLocation }
  | { type: 'ensureInventoryItem'; input: EnsureInventoryItem };

/** Many commands in one workflow, in the order they came. */
export interface MoveStockBatch {
  schema: 1;
  commands: MoveStock[];
}

/** Many catalogue commands in one workflow. */
export interface EnsureCatalogueBatch {
  schema: 1;
  commands: Exclude<Command, { type: 'moveStock' }>[];
}

/**
 * What became of a command. `UNKNOWN_STOCK` is not final: the command waits until the catalogue brings its stock.
 * Nor is `PARKED`: a person decides, see `decisions.ts`.
 */
export type Outcome =
  'APPLIED' | 'DUPLICATE' | 'CONFLICT' | 'REFUSED' | 'IGNORED' | 'UNKNOWN_STOCK' | 'PARKED';

/** A leg as it stands in the ledger. */
export interface PostedLeg extends Leg {
  onHandAfter: string;
  belowZero: boolean;
}

/** The entry that answers a command: where its event came from and which workflow posted it. */
export interface Recorded {
  workflowId: string;
  source: Source;
  recordedAt: string;
}

/** How far one stock of a document is from the ledger, `difference = asked - recorded`. */
export interface Difference {
  inventoryStockId: string;
  recorded: string;
  asked: string;
  difference: string;
}

/** Answer to a `MoveStock`. */
export type MoveStockResult =
  /** `decided` is there when a person's word was needed. */
  | { outcome: 'APPLIED'; legs: PostedLeg[]; decided?: Decided }
  | { outcome: 'DUPLICATE'; of: Recorded }
  /** Refused for good by a person or the deadline; the answer to every later delivery of the same content. */
  | { outcome: 'REFUSED'; decided: Decided; of: Recorded }
  | Parked
  | Hindrance;

/** Answer to a group: how many commands had each outcome, and which of them go on in a workflow of their own. */
export interface MoveStockBatchResult {
  counts: Partial<Record<MoveStockResult['outcome'], number>>;
  /** Positions in the group. */
  onTheirOwn: number[];
}

/** Answer to an ensure command: what was missing is there now (APPLIED), or was there before (DUPLICATE). */
export interface EnsureResult {
  outcome: 'APPLIED' | 'DUPLICATE';
  /** `_id`s of the documents that were created. */
  created: string[];
}

/** An ID must fit, escaped, into a Temporal workflow ID (1,000 bytes) together with a second one. */
export const MAX_ID_BYTES = 120;

/**
 * Escapes one part of a key so that joined parts never collide: `/` separates, and `/` and `%` are escaped, with
 * all else that is not URL-safe. `@`, `#` and `:` stay as they are, so that ordinary IDs stay readable.
 * @throws URIError on a lone surrogate, which the bridge refuses beforehand.
 */
export function escapePart(part: string): string {
  // Nearly every ID in practice, and this is done several times per command.
  if (/^[\w.~@#:-]+$/.test(part)) return part;
  return encodeURIComponent(part).replaceAll('%40', '@').replaceAll('%23', '#').replaceAll('%3A', ':');
}

/** `SALE_ORDER/SO-1`: the reference as one string, as search attribute and prefix of keys and workflow IDs. */
export function referenceKey(referenceType: ReferenceType, referenceId: string): string {
  return `${referenceType}/${escapePart(referenceId)}`;
}

/** The `_id` of a tracking entry: the idempotency key, and from the second attempt on the attempt's number. */
export function trackingId(
  referenceType: ReferenceType,
  referenceId: string,
  inventoryStockId: string,
  attempt = 1,
): string {
  const key = `${referenceKey(referenceType, referenceId)}/${escapePart(inventoryStockId)}`;
  return attempt === 1 ? key : `${key}/${attempt}`;
}

/**
 * Content of a command as 32 hex digits: equal for every delivery of the same document, different for an edited
 * one. Neither time nor source counts.
 */
export function legsDigest(legs: readonly Leg[]): string {
  return digest(JSON.stringify(legs.map((leg) => [leg.inventoryStockId, leg.delta])));
}

/** `SALE_ORDER/SO-1/<digest of the legs>`. */
export function moveStockWorkflowId(
  command: Pick<MoveStock, 'referenceType' | 'referenceId' | 'legs'>,
): string {
  return `${referenceKey(command.referenceType, command.referenceId)}/${legsDigest(command.legs)}`;
}

/** The workflow that re-opens a refused attempt: `SALE_ORDER/SO-1/<digest of the legs>/<refused attempt>`. */
export function reopenedWorkflowId(
  command: Pick<MoveStock, 'referenceType' | 'referenceId' | 'legs'>,
  refusedAttempt: number,
): string {
  return `${moveStockWorkflowId(command)}/${refusedAttempt}`;
}

/** `MERCHANT/<merchantId>`: ensuring is idempotent by entity, so every change of a merchant has the same ID. */
export function ensureDefaultLocationWorkflowId(command: Pick<EnsureDefaultLocation, 'merchantId'>): string {
  return `MERCHANT/${escapePart(command.merchantId)}`;
}

/** `PRODUCT_VARIANT/<variantId>/<merchantId>`: a variant that moves to another merchant needs a stock there. */
export function ensureInventoryItemWorkflowId(
  command: Pick<EnsureInventoryItem, 'variantId' | 'merchantId'>,
): string {
  return `PRODUCT_VARIANT/${escapePart(command.variantId)}/${escapePart(command.merchantId)}`;
}

/** `group/<digest of its members' IDs>`: a group that is cut the same way again is the same group. */
export function groupWorkflowId(memberIds: readonly string[]): string {
  return `group/${digest(JSON.stringify(memberIds))}`;
}

/** The workflow ID of any command. */
export function workflowIdOf(command: Command): string {
  switch (command.type) {
    case 'moveStock':
      return moveStockWorkflowId(command.input);
    case 'ensureDefaultLocation':
      return ensureDefaultLocationWorkflowId(command.input);
    case 'ensureInventoryItem':
      return ensureInventoryItemWorkflowId(command.input);
  }
}

/** The reference that a workflow ID begins with, e.g. `SALE_ORDER/SO-1`; undefined for a group's. */
export function referenceIn(workflowId: string): string | undefined {
  const [type, id] = workflowId.split('/');
  return type === 'group' || id === undefined ? undefined : `${type}/${id}`;
}

/** `_id` of a merchant's default location. */
export function defaultLocationId(merchantId: string): string {
  return `${escapePart(merchantId)}/default`;
}

/**
 * `_id` of a variant's stock at its merchant's default location, e.g. `espresso@cafe-luna`: the ID that producers
 * put into `stockId`. `@` and `%` inside the parts are escaped, so two pairs never share one.
 */
export function defaultStockId(variantId: string, merchantId: string): string {
  return `${escapeFor('@', variantId)}@${escapeFor('@', merchantId)}`;
}

/**
 * Reference ID of a purchase order, or of one partial receipt of it: `PO-1`, `PO-1#R-1`. `#` and `%` inside the
 * parts are escaped, so an order that is called `PO-1#R-1` is not taken for the receipt.
 */
export function purchaseOrderReferenceId(purchaseOrderId: string, receiptId?: string): string {
  const order = escapeFor('#', purchaseOrderId);
  return receiptId === undefined ? order : `${order}#${escapeFor('#', receiptId)}`;
}

/** Escapes only the separator and `%`, so that ordinary IDs stay as people know them. */
function escapeFor(separator: '@' | '#', part: string): string {
  return part.replaceAll('%', '%25').replaceAll(separator, separator === '@' ? '%40' : '%23');
}

function digest(text: string): string {
  return bytesToHex(sha256(utf8ToBytes(text))).slice(0, 32);
}

/** Search attributes, all registered by `inventory setup`. */
export const SEARCH_ATTRIBUTES = {
  /** Keyword, e.g. `SALE_ORDER/SO-1`. */
  reference: 'InventoryReference',
  /** Keyword. */
  referenceType: 'InventoryReferenceType',
  /** KeywordList: the command's stocks, as many as fit. */
  stocks: 'InventoryStocks',
  /** Keyword: set only when the outcome is not APPLIED; `PARKED/<case>` while the command is parked. */
  outcome: 'InventoryOutcome',
} as const;

/**
 * Time limits, each inside the next, so that nothing outer gives up on something inner that may still succeed:
 * transaction < activity start-to-close < worker's shutdown grace (< the pod's grace period).
 */
export const TIME_LIMITS_MS = {
  transaction: 8_000,
  activityStartToClose: 12_000,
  shutdownGrace: 20_000,
} as const;
