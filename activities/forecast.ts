/**
 * What commands would come to, by the very rules that post them (`judge.ts`), without posting anything. Commands
 * see what the ones before them would do, so that a whole span is forecast as it would happen.
 */
import Big from 'big.js';
import {
  defaultLocationId,
  defaultStockId,
  legsDigest,
  moveStockWorkflowId,
  referenceKey,
  type Command,
  type MoveStock,
  type MoveStockResult,
  type Recorded,
} from '../commands';
import { readOnHand, toDecimal128 } from './decimals';
import { judge, type Policy } from './judge';
import { entriesOf } from './ledger';
import type { Database, InventoryStock } from './models';

/**
 * - `already-applied`, `already-there`: nothing would change; the ledger, or the catalogue, has it
 * - `would-apply`, `would-create`: it would change stock, or create what is missing
 * - `repeated`: the span holds it before, where it would apply
 * - `conflict`, `would-refuse`: it would be parked for a person; `parked`, `refused-earlier`: it is
 * - `unknown-stock`: it would wait for its stock
 * - `broken-stock`: its stock's document has to be mended first
 */
export const VERDICTS = [
  'already-applied',
  'would-apply',
  'repeated',
  'conflict',
  'parked',
  'refused-earlier',
  'would-refuse',
  'unknown-stock',
  'broken-stock',
  'would-create',
  'already-there',
] as const;

export interface Verdict {
  verdict: (typeof VERDICTS)[number];
  detail?: string;
  /** The entry that answers it. */
  of?: Recorded;
}

type Stock = InventoryStock & { sequence: number };

/** Workflow ID of entries that exist only in the forecast. */
const FORECAST = '(forecast)';
const MAJORITY = { readConcern: { level: 'majority' } } as const;

export class Forecast {
  /** What the span would change, by stock. */
  readonly changes = new Map<string, Big>();
  /** Content of the references that would be applied. */
  private readonly applied = new Map<string, string>();
  /** Workflow IDs of what would be parked. */
  private readonly parked = new Set<string>();
  private readonly stocks = new Map<string, Stock | 'missing' | 'broken'>();
  private readonly created = new Set<string>();

  constructor(
    private readonly database: Database,
    private readonly policy: Policy,
  ) {}

  /** One verdict per command, in order. Rejects when the database does not answer. */
  async next(commands: readonly Command[]): Promise<Verdict[]> {
    const moves = commands.flatMap((command) => (command.type === 'moveStock' ? [command.input] : []));
    const movesVerdicts = await this.judgeMoves(moves);
    const exists = await this.readCatalogue(commands);
    let move = 0;
    return commands.map((command) =>
      command.type === 'moveStock' ? movesVerdicts[move++]! : this.judgeEnsure(command, exists),
    );
  }

  private async judgeMoves(moves: readonly MoveStock[]): Promise<Verdict[]> {
    const entries = await entriesOf(this.database, moves, { ...MAJORITY, batchSize: 5_000 });
    await this.readStocks([...new Set(moves.flatMap(({ legs }) => legs.map((leg) => leg.inventoryStockId)))]);
    const verdicts = moves.map((move) => this.beforehand(move));
    const open = moves.filter((_, index) => verdicts[index] === undefined);
    const known = [...this.stocks.values()].filter((stock): stock is Stock => typeof stock === 'object');
    const needed = new Set(open.flatMap(({ legs }) => legs.map((leg) => leg.inventoryStockId)));
    const { results, stocks } = judge(
      open.map((command, index) => ({ command, workflowId: FORECAST, runId: String(index) })),
      { entries, stocks: known.filter(({ _id }) => needed.has(_id)) },
      this.policy,
      new Date(),
    );
    for (const [id, { inc }] of stocks) {
      const stock = this.stocks.get(id) as Stock;
      stock.onHand = toDecimal128(readOnHand(stock.onHand).plus(inc));
      this.changes.set(id, (this.changes.get(id) ?? new Big(0)).plus(inc));
    }
    let next = 0;
    return moves.map((move, index) => verdicts[index] ?? this.verdictOf(move, results[next++]!));
  }

  /** What needs no judging: known from before in the span, or not to be judged at all. */
  private beforehand(move: MoveStock): Verdict | undefined {
    const digest = this.applied.get(keyOf(move));
    if (digest === legsDigest(move.legs)) return { verdict: 'repeated' };
    if (digest !== undefined) {
      return this.parkedOnce(move, { verdict: 'conflict', detail: 'with another version in this span' });
    }
    const broken = move.legs.find((leg) => this.stocks.get(leg.inventoryStockId) === 'broken');
    return broken && { verdict: 'broken-stock', detail: broken.inventoryStockId };
  }

  private verdictOf(move: MoveStock, result: MoveStockResult): Verdict {
    switch (result.outcome) {
      case 'APPLIED':
        this.applied.set(keyOf(move), legsDigest(move.legs));
        return { verdict: 'would-apply' };
      case 'DUPLICATE':
        if (result.of.workflowId === FORECAST) return { verdict: 'repeated' };
        return { verdict: 'already-applied', detail: result.of.workflowId, of: result.of };
      case 'CONFLICT': {
        const differences = result.differences.map((d) => `${d.inventoryStockId} ${d.difference}`);
        return this.parkedOnce(move, { verdict: 'conflict', detail: differences.slice(0, 5).join(', ') });
      }
      case 'PARKED':
        return { verdict: 'parked', detail: result.of.workflowId, of: result.of };
      case 'REFUSED':
        if ('decided' in result) return { verdict: 'refused-earlier', detail: result.decided.reason };
        return this.parkedOnce(move, {
          verdict: 'would-refuse',
          detail: result.short.map((s) => s.inventoryStockId).join(', '),
        });
      case 'UNKNOWN_STOCK':
        return { verdict: 'unknown-stock', detail: result.missing.slice(0, 5).join(', ') };
    }
  }

  /** The same content again finds the first one parked. */
  private parkedOnce(move: MoveStock, verdict: Verdict): Verdict {
    const id = moveStockWorkflowId(move);
    if (this.parked.has(id)) return { verdict: 'repeated' };
    this.parked.add(id);
    return verdict;
  }

  private async readStocks(ids: string[]): Promise<void> {
    const unread = ids.filter((id) => !this.stocks.has(id));
    if (unread.length === 0) return;
    for (const id of unread) this.stocks.set(id, 'missing');
    const found = this.database.stocks.find(
      { _id: { $in: unread } },
      { ...MAJORITY, projection: { onHand: 1 }, promoteLongs: false },
    );
    for await (const stock of found) {
      try {
        readOnHand(stock.onHand);
        // The place in the chain plays no part in a judgement.
        this.stocks.set(stock._id, { ...stock, sequence: 0 });
      } catch {
        this.stocks.set(stock._id, 'broken');
      }
    }
  }

  /** Which of the documents that ensure commands ask for exist, by `collection/_id`. */
  private async readCatalogue(commands: readonly Command[]): Promise<Set<string>> {
    const wanted = commands.flatMap(documentsOf);
    const exists = new Set(this.created);
    for (const name of ['locations', 'items', 'stocks'] as const) {
      const ids = wanted.filter((id) => id.startsWith(`${name}/`)).map((id) => id.slice(name.length + 1));
      if (ids.length === 0) continue;
      const found = this.database[name].find({ _id: { $in: ids } }, { ...MAJORITY, projection: { _id: 1 } });
      for await (const { _id } of found) exists.add(`${name}/${_id}`);
    }
    return exists;
  }

  private judgeEnsure(command: Command, exists: Set<string>): Verdict {
    const missing = documentsOf(command).filter((id) => !exists.has(id));
    for (const id of missing) {
      this.created.add(id);
      exists.add(id);
      // Later commands of the span find it, empty.
      if (id.startsWith('stocks/')) {
        const _id = id.slice('stocks/'.length);
        this.stocks.set(_id, { _id, onHand: toDecimal128(new Big(0)), sequence: 0 });
      }
    }
    return missing.length > 0
      ? { verdict: 'would-create', detail: missing.join(', ') }
      : { verdict: 'already-there' };
  }
}

function keyOf({ referenceType, referenceId }: MoveStock): string {
  return referenceKey(referenceType, referenceId);
}

function documentsOf(command: Command): string[] {
  switch (command.type) {
    case 'moveStock':
      return [];
    case 'ensureDefaultLocation':
      return [`locations/${defaultLocationId(command.input.merchantId)}`];
    case 'ensureInventoryItem': {
      const { variantId, merchantId } = command.input;
      return [
        `locations/${defaultLocationId(merchantId)}`,
        `items/${variantId}`,
        `stocks/${defaultStockId(variantId, merchantId)}`,
      ];
    }
  }
}
