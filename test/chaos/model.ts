/**
 * What must be in the end, computed from what was published and from nothing else. It shares no code with the
 * product: quantities are whole thousandths, keys are spelled out by hand.
 */

/** A business document, however many events and deliveries it has. */
export interface Document {
  /** `SALE_ORDER SO-1` */
  key: string;
  /** Thousandths by stock, none zero. */
  legs: Map<string, bigint>;
  /**
   * `applies`: once, whatever happens. `lost`: its only deliveries were deleted from the topic and a person accepted
   * that, so it must not appear.
   */
  fate: 'applies' | 'lost';
  /** An edited version was delivered after the first had been applied: it has to be parked as a conflict. */
  edited: boolean;
}

export class Model {
  readonly documents = new Map<string, Document>();
  /** Values that no decoder may accept, each with a dead letter. */
  readonly broken = new Set<string>();
  /** Thousandths on hand before the first event. */
  readonly openings = new Map<string, bigint>();

  add(key: string, moves: readonly [stock: string, thousandths: bigint][]): Document {
    const legs = new Map<string, bigint>();
    for (const [stock, quantity] of moves) legs.set(stock, (legs.get(stock) ?? 0n) + quantity);
    for (const [stock, quantity] of legs) if (quantity === 0n) legs.delete(stock);
    const document: Document = { key, legs, fate: 'applies', edited: false };
    if (this.documents.has(key)) throw new Error(`the load made ${key} twice`);
    this.documents.set(key, document);
    return document;
  }

  /** Thousandths that each stock must hold. */
  onHand(): Map<string, bigint> {
    const stocks = new Map(this.openings);
    for (const { legs, fate } of this.documents.values()) {
      if (fate === 'lost') continue;
      for (const [stock, quantity] of legs) stocks.set(stock, (stocks.get(stock) ?? 0n) + quantity);
    }
    return stocks;
  }
}

/** `2500n` as `2.5`. */
export function quantityText(thousandths: bigint): string {
  const digits = String(thousandths < 0n ? -thousandths : thousandths).padStart(4, '0');
  const fraction = digits.slice(-3).replace(/0+$/, '');
  return `${thousandths < 0n ? '-' : ''}${digits.slice(0, -3)}${fraction === '' ? '' : `.${fraction}`}`;
}

/** `2.5`, `-2.50` or `25E-1` as thousandths. @throws Error when it is finer than that */
export function thousandths(text: string): bigint {
  const match = /^(-?)(\d+)(?:\.(\d+))?(?:E([+-]?\d+))?$/.exec(text);
  if (!match) throw new Error(`${text} is no decimal`);
  const [, sign, whole, fraction = '', exponent = '0'] = match;
  const shift = 3 - fraction.length + Number(exponent);
  const digits = BigInt(`${whole}${fraction}`);
  const scaled = shift >= 0 ? digits * 10n ** BigInt(shift) : digits / 10n ** BigInt(-shift);
  if (shift < 0 && scaled * 10n ** BigInt(-shift) !== digits) throw new Error(`${text} is finer than 0.001`);
  return sign === '-' ? -scaled : scaled;
}
