/** Random business documents as the events that are published for them, entered into the model as they are made. */
import { quantityText, type Document, type Model } from './model';
import type { Random } from './random';

/** One record to publish. */
export interface Message {
  topic: string;
  value: string;
  /** Kafka's time of the record, epoch milliseconds; the producer's clock when left out. */
  timestamp?: string;
}

/** A document with its events, in the order in which they happened. */
export interface Made {
  document: Document;
  messages: Message[];
}

export const SALE = 'PAYMENT_SUCCESS';
const KITCHEN = 'KITCHEN_TICKET_ITEM_STATUS_CHANGED';
const TRANSFER = 'MATERIAL_TRANSFERRED';
const RECEIPT = 'PURCHASE_ORDER_RECEIVED';
const MERCHANTS = 'cdc.Merchant';
const VARIANTS = 'cdc.ProductVariant';

/** The event topics; each document below comes in one of them. */
export const EVENT_TOPICS = [SALE, KITCHEN, TRANSFER, RECEIPT];
export const CATALOGUE_TOPICS = [MERCHANTS, VARIANTS];

/** Half of all lines are for this stock. */
export const HOT = 'HOT';
/** Stocks that came from elsewhere, without a catalogue event. */
export const OPENED = [HOT, 'S-1', 'S-2', 'S-3', 'S-4', 'S 5/ü@x'];
const MERCHANT = 'cafe';
const LISTED = ['latte', 'beans', 'milk', 'lemons'].map((variant) => `${variant}@${MERCHANT}`);

export class Maker {
  private count = 0;
  private late = 0;

  constructor(
    private readonly random: Random,
    private readonly model: Model,
    private readonly clock: () => Date,
  ) {}

  catalogue(): Message[] {
    return [merchant(MERCHANT), ...LISTED.map((stock) => variant(stock))];
  }

  any(): Made {
    const roll = this.random.next();
    if (roll < 0.5) return this.sale();
    if (roll < 0.7) return this.kitchen();
    return roll < 0.85 ? this.transfer() : this.receipt();
  }

  sale(stocks?: string[]): Made {
    const id = this.id('SO');
    const lines = this.lines(stocks);
    const document = this.model.add(
      `SALE_ORDER ${id}`,
      lines.map(([stock, quantity]) => [stock, -quantity]),
    );
    return { document, messages: [this.saleEvent(id, lines)] };
  }

  /** A sale of a stock that the catalogue brings only later, and the event that brings it. */
  early(): Made & { catalogue: Message } {
    const stock = `late-${++this.late}@${MERCHANT}`;
    return { ...this.sale([stock, this.random.pick(OPENED)]), catalogue: variant(stock) };
  }

  /** The same order with one quantity more: never to be applied by itself. */
  edited({ document }: Made): Message {
    const lines = [...document.legs].map(([stock, quantity]): [string, bigint] => [stock, -quantity]);
    lines[0]![1] += 1_000n;
    document.edited = true;
    return this.saleEvent(document.key.replace('SALE_ORDER ', ''), lines);
  }

  /** What its producer cut in two. */
  broken(): Message {
    const value = `{"saleOrderId":"${this.id('BROKEN')}","lines":[{"stockId":`;
    this.model.broken.add(value);
    return { topic: this.random.pick(EVENT_TOPICS), value };
  }

  private kitchen(): Made {
    const id = this.id('KTI');
    const lines = this.lines();
    const document = this.model.add(
      `KITCHEN_TICKET_ITEM ${id}`,
      lines.map(([stock, quantity]) => [stock, -quantity]),
    );
    const materials = lines.map(([stock, quantity]) => ({
      materialStockId: stock,
      quantity: quantityText(quantity),
    }));
    // Whichever comes first consumes, and they do not come in order.
    const statuses = this.random.shuffled(['PREPARING', 'READY', 'SERVED']).slice(this.random.between(0, 2));
    if (this.random.chance(0.3)) statuses.push('CANCELLED');
    const messages = statuses.map((status) =>
      message(KITCHEN, { kitchenTicketItemId: id, status, changedAt: this.now(), materials }),
    );
    return { document, messages };
  }

  private transfer(): Made {
    const id = this.id('T');
    const moves = Array.from({ length: this.random.between(1, 2) }, () => {
      const [from, to] = this.random.shuffled([...OPENED, ...LISTED]) as [string, string];
      return { from, to, quantity: this.quantity() };
    });
    const document = this.model.add(
      `MATERIAL_TRANSFER ${id}`,
      moves.flatMap(({ from, to, quantity }) => [
        [from, -quantity],
        [to, quantity],
      ]),
    );
    const lines = moves.map(({ from, to, quantity }) => ({
      fromStockId: from,
      toStockId: to,
      quantity: quantityText(quantity),
    }));
    const head = { transferId: id, transferredAt: this.now() };
    return {
      document,
      messages: [message(TRANSFER, lines.length > 1 ? { ...head, lines } : { ...head, ...lines[0] })],
    };
  }

  private receipt(): Made {
    const order = this.id('PO');
    const receipt = this.random.chance(0.5) ? `R-${this.random.between(1, 9)}` : undefined;
    const lines = this.lines();
    const document = this.model.add(
      `PURCHASE_ORDER ${receipt === undefined ? order : `${order}#${receipt}`}`,
      lines,
    );
    const event = {
      purchaseOrderId: order,
      ...(receipt === undefined ? {} : { receiptId: receipt }),
      receivedAt: this.now(),
      lines: lines.map(([stockId, quantity]) => ({ stockId, quantity: quantityText(quantity) })),
    };
    return { document, messages: [message(RECEIPT, event)] };
  }

  private saleEvent(saleOrderId: string, lines: [string, bigint][]): Message {
    return message(SALE, {
      saleOrderId,
      paidAt: this.now(),
      lines: lines.map(([stockId, quantity]) => ({ stockId, quantity: quantityText(quantity) })),
    });
  }

  /** Stocks may come twice: their lines add up. */
  private lines(stocks?: string[]): [string, bigint][] {
    const chosen =
      stocks ??
      Array.from({ length: this.random.between(1, 3) }, () =>
        this.random.chance(0.5) ? HOT : this.random.pick([...OPENED, ...LISTED]),
      );
    return chosen.map((stock) => [stock, this.quantity()]);
  }

  private quantity(): bigint {
    return BigInt(this.random.pick([1_000, 2_000, 500, 125, 1, this.random.between(1, 20_000)]));
  }

  private id(prefix: string): string {
    return `${prefix}-${++this.count}`;
  }

  private now(): string {
    return this.clock().toISOString();
  }
}

function message(topic: string, event: object): Message {
  return { topic, value: JSON.stringify(event) };
}

function merchant(id: string): Message {
  return message(MERCHANTS, { op: 'c', before: null, after: { id }, source: { connector: 'postgresql' } });
}

function variant(stock: string): Message {
  const [id, merchantId] = stock.split('@');
  return message(VARIANTS, {
    op: 'c',
    before: null,
    after: { id, merchantId },
    source: { connector: 'postgresql' },
  });
}
