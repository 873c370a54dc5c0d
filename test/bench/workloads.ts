/** The workloads: which events are published, over which stocks, and what the ledger must hold afterwards. */
import Big from 'big.js';

export const WORKLOADS = {
  one: '1 line, 500 stocks',
  three: '3 lines, 500 stocks',
  hot: '1 line, one hot stock',
  transfers: 'transfers, 500 stocks',
  redelivered: '5 % redeliveries',
  replay: 'all redeliveries',
} as const;
export type WorkloadName = keyof typeof WORKLOADS;

export const OPENING = '1000';
const STOCKS = 500;

export interface BenchEvent {
  topic: 'PAYMENT_SUCCESS' | 'MATERIAL_TRANSFERRED';
  referenceId: string;
  /** The document; the time is put in when it is published. */
  body: Record<string, unknown>;
  /** Left out, the reference decides. */
  partition?: number;
  legs: { stockId: string; delta: string }[];
}

export interface Workload {
  stocks: string[];
  /** Published and applied beforehand, not measured. */
  before: BenchEvent[];
  /** In the order of publishing, redeliveries among them. */
  events: BenchEvent[];
  /** References whose first and last commit span the measurement; all of `events` when left out. */
  markers?: { first: Set<string>; last: Set<string> };
}

/**
 * @param prefix goes into every ID, so that workloads share a database and a namespace without meeting
 * @param partitions of each topic: a replay is marked at both ends of each
 */
export function workload(name: WorkloadName, prefix: string, count: number, partitions: number): Workload {
  const random = seeded(count);
  const stocks = Array.from(
    { length: name === 'hot' ? 1 : STOCKS },
    (_, index) => `${prefix}-stock-${index}`,
  );
  const pick = () => stocks[Math.floor(random() * stocks.length)]!;
  const quantity = () => new Big(1 + Math.floor(random() * 4_000)).div(1_000).toFixed();
  const sale = (index: number | string, lines: number): BenchEvent => {
    const chosen = new Set<string>();
    while (chosen.size < lines) chosen.add(pick());
    const sold = [...chosen].map((stockId) => ({ stockId, quantity: quantity() }));
    return {
      topic: 'PAYMENT_SUCCESS',
      referenceId: `${prefix}-${index}`,
      body: { saleOrderId: `${prefix}-${index}`, lines: sold },
      legs: sold.map((line) => ({ stockId: line.stockId, delta: `-${line.quantity}` })),
    };
  };
  const transfer = (index: number): BenchEvent => {
    const [fromStockId, toStockId, moved] = [pick(), pick(), quantity()];
    if (fromStockId === toStockId) return transfer(index);
    return {
      topic: 'MATERIAL_TRANSFERRED',
      referenceId: `${prefix}-${index}`,
      body: { transferId: `${prefix}-${index}`, fromStockId, toStockId, quantity: moved },
      legs: [
        { stockId: fromStockId, delta: `-${moved}` },
        { stockId: toStockId, delta: moved },
      ],
    };
  };
  const sales = (lines: number) => Array.from({ length: count }, (_, index) => sale(index, lines));

  switch (name) {
    case 'one':
    case 'hot':
      return { stocks, before: [], events: sales(1) };
    case 'three':
      return { stocks, before: [], events: sales(3) };
    case 'transfers':
      return { stocks, before: [], events: Array.from({ length: count }, (_, index) => transfer(index)) };
    case 'redelivered':
      return {
        stocks,
        before: [],
        events: withRedeliveries(sales(1).slice(0, Math.ceil(count * 0.95)), count, random),
      };
    case 'replay': {
      const before = sales(1);
      // What is applied already leaves no trace in the ledger, so a fresh event stands at both ends of each partition.
      const mark = (end: string) =>
        Array.from({ length: partitions }, (_, partition) => ({
          ...sale(`${end}-${partition}`, 1),
          partition,
        }));
      const [first, last] = [mark('first'), mark('last')];
      const idsOf = (events: BenchEvent[]) => new Set(events.map((event) => event.referenceId));
      return {
        stocks,
        before,
        events: [...first, ...before, ...last],
        markers: { first: idsOf(first), last: idsOf(last) },
      };
    }
  }
}

/** Fills up to `count` with copies, each somewhere behind its original. */
function withRedeliveries(events: BenchEvent[], count: number, random: () => number): BenchEvent[] {
  const result = [...events];
  while (result.length < count) {
    const original = Math.floor(random() * result.length);
    const place = original + 1 + Math.floor(random() * (result.length - original));
    result.splice(place, 0, result[original]!);
  }
  return result;
}

/** The same events in every run and for every contender (mulberry32). */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
