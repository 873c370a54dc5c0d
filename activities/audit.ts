/**
 * `audit`: proves from stock and ledger alone that every stock is explained. Reads only, in snapshots, with flat
 * memory, while events flow.
 */
import type { ChainStart, ChainStock, StockChain } from './auditChain';
import type { Checkpoint } from './auditCheckpoint';
import type { Finding } from './auditFinding';
import { auditAllStocks, auditChangedStocks, auditPlacelessEntries } from './auditStocks';
import { auditAllTransfers, auditTransfers } from './auditTransfers';
import { readOnHand } from './decimals';
import type { Database } from './models';

export interface AuditCounts {
  stocks: number;
  /** Stocks that stand as they did at the checkpoint: their entries were not read. */
  unchanged: number;
  /** Archived entries that lie behind the opening of their stock and were counted, but not read one by one. */
  behindOpenings: number;
  entries: number;
  transfers: number;
  findings: number;
}

export interface AuditSettings {
  /** Called for each finding, as soon as it is known. */
  onFinding(finding: Finding): void;
  /** Called at most every half second. */
  onProgress?(counts: AuditCounts): void;
  /** What was found whole before, and where to note what is whole now. */
  checkpoint?: Checkpoint;
  /** Reads every archived entry too, instead of beginning at the openings. */
  archived?: boolean;
}

/** Checks 1 to 4. Rejects only when the database does not answer. */
export async function audit(database: Database, settings: AuditSettings): Promise<AuditCounts> {
  const run = new AuditRun(settings);
  if (settings.checkpoint?.isFirst === false) {
    await auditChangedStocks(database, run, (ids, session) => auditTransfers(database, run, ids, session));
  } else {
    const archived = settings.archived === true;
    await auditAllStocks(database, run, archived);
    await auditPlacelessEntries(database, run);
    await auditAllTransfers(database, run, archived);
  }
  await settings.checkpoint?.finish();
  return run.counts;
}

/** Counts and findings of one audit, shared by its checks. */
export class AuditRun {
  readonly counts: AuditCounts = {
    stocks: 0,
    unchanged: 0,
    behindOpenings: 0,
    entries: 0,
    transfers: 0,
    findings: 0,
  };
  private toldAt = Date.now();

  constructor(private readonly settings: AuditSettings) {}

  report(finding: Finding): void {
    this.counts.findings++;
    this.settings.onFinding(finding);
  }

  countEntry(): void {
    this.counts.entries++;
    if (this.counts.entries % 1_000 === 0) this.tell();
  }

  countBehindOpening(entries: number): void {
    this.counts.behindOpenings += entries;
  }

  countTransfer(): void {
    this.counts.transfers++;
    if (this.counts.transfers % 1_000 === 0) this.tell();
  }

  /** Moves the checkpoint to a stock; stocks come in order. */
  async advanceTo(stockId: string): Promise<void> {
    await this.settings.checkpoint?.advanceTo(stockId);
  }

  startOf(stockId: string): ChainStart | undefined {
    return this.settings.checkpoint?.startOf(stockId);
  }

  isUnchanged(stock: ChainStock & { _id: string }): boolean {
    const start = this.startOf(stock._id);
    if (start === undefined || Number(stock.sequence ?? 0) !== start.sequence) return false;
    try {
      if (!readOnHand(stock.onHand).eq(start.balance)) return false;
    } catch {
      return false;
    }
    this.counts.stocks++;
    this.counts.unchanged++;
    this.settings.checkpoint?.note(stock._id, start);
    return true;
  }

  endStock(chain: StockChain, stock: ChainStock | undefined): void {
    this.counts.stocks++;
    const { findings, end } = chain.end(stock);
    for (const finding of findings) this.report(finding);
    // A stock with a finding stays where it was last whole, so that the finding comes again until it is repaired.
    const whole = end ?? this.startOf(chain.stockId);
    if (whole) this.settings.checkpoint?.note(chain.stockId, whole);
    this.tell();
  }

  private tell(): void {
    if (Date.now() < this.toldAt + 500) return;
    this.toldAt = Date.now();
    this.settings.onProgress?.(this.counts);
  }
}
