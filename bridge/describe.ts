/** What the Web UI shows of a command: search attributes, a one-line summary, details. All cut to Temporal's limits. */
import { defineSearchAttributeKey } from '@temporalio/common';
import type { SearchAttributePair } from '@temporalio/common';
import { defaultStockId, escapePart, referenceKey, SEARCH_ATTRIBUTES, workflowIdOf } from '../commands';
import type { Command, Leg, Source } from '../commands';
import { code, plain } from '../markdown';

/** Temporal refuses a summary above 400 bytes and details above 20,000, counted as JSON text. */
const SUMMARY_BYTES = 390;
const DETAILS_BYTES = 19_500;
/** Visibility stores keep a keyword in 255 characters. */
const KEYWORD_CHARACTERS = 255;
const KEYWORD_LIST_BYTES = 1_500;

const KEYS = {
  reference: defineSearchAttributeKey(SEARCH_ATTRIBUTES.reference, 'KEYWORD'),
  referenceType: defineSearchAttributeKey(SEARCH_ATTRIBUTES.referenceType, 'KEYWORD'),
  stocks: defineSearchAttributeKey(SEARCH_ATTRIBUTES.stocks, 'KEYWORD_LIST'),
};

export interface Description {
  staticSummary: string;
  staticDetails: string;
  typedSearchAttributes: SearchAttributePair[];
}

export function describeCommand(command: Command): Description {
  const subject = subjectOf(command);
  const { source } = command.input;
  return {
    staticSummary: fit(
      [`${plain(subject.title)}: ${subject.short} (${plain(source.topic)}, ${place(source)})`],
      SUMMARY_BYTES,
    ),
    staticDetails: fit(
      [
        ...subject.lines,
        '',
        `From ${code(source.topic)}, ${place(source)}, workflow ${code(workflowIdOf(command))}`,
      ],
      DETAILS_BYTES,
    ),
    typedSearchAttributes: [
      { key: KEYS.reference, value: subject.reference.slice(0, KEYWORD_CHARACTERS) },
      { key: KEYS.referenceType, value: subject.referenceType },
      { key: KEYS.stocks, value: fitList(subject.stocks) },
    ],
  };
}

/** A group: where its commands come from, and as many of its references as fit. */
export function describeGroup(
  commands: readonly Command[],
  memberIds: readonly string[],
): Omit<Description, 'typedSearchAttributes'> {
  const spans = new Map<string, { from: bigint; to: bigint; count: number }>();
  for (const { input } of commands) {
    const name = `${input.source.topic}[${input.source.partition}]`;
    const offset = BigInt(input.source.offset);
    const span = spans.get(name);
    if (span === undefined) spans.set(name, { from: offset, to: offset, count: 1 });
    else {
      span.count++;
      if (offset < span.from) span.from = offset;
      if (offset > span.to) span.to = offset;
    }
  }
  const places = [...spans].map(([name, { from, to, count }]) => `${plain(name)} ${from}..${to} (${count})`);
  // The IDs without their digests; far more than fit are not even formatted.
  const references = memberIds.slice(0, 1_000).map((id) => code(id.replace(/\/[0-9a-f]{32}$/, '')));
  return {
    staticSummary: fit([`${commands.length} commands from ${places.join(', ')}`], SUMMARY_BYTES),
    staticDetails: fit([...places.map((place) => `- ${place}`), '', references.join(', ')], DETAILS_BYTES),
  };
}

/** A command's reference, e.g. `SALE_ORDER/SO-1` or `MERCHANT/m-1`. */
export function referenceOf(command: Command): string {
  return subjectOf(command).reference;
}

interface Subject {
  reference: string;
  referenceType: string;
  title: string;
  short: string;
  lines: string[];
  stocks: string[];
}

function subjectOf(command: Command): Subject {
  switch (command.type) {
    case 'moveStock': {
      const { referenceType, referenceId, legs, occurredAt } = command.input;
      const shown = legs.slice(0, 3).map((leg) => `${plain(leg.inventoryStockId)} ${signed(leg)}`);
      if (legs.length > 3) shown.push(`and ${legs.length - 3} more`);
      return {
        reference: referenceKey(referenceType, referenceId),
        referenceType,
        title: `${referenceType} ${referenceId}`,
        short: shown.join(', '),
        lines: [
          `**${plain(referenceType)}** ${code(referenceId)}, occurred at ${code(occurredAt)}`,
          '',
          ...legLines(legs),
        ],
        stocks: legs.map((leg) => leg.inventoryStockId),
      };
    }
    case 'ensureDefaultLocation': {
      const { merchantId } = command.input;
      return {
        reference: `MERCHANT/${escapePart(merchantId)}`,
        referenceType: 'MERCHANT',
        title: `MERCHANT ${merchantId}`,
        short: 'ensure default location',
        lines: [`Ensures the default location of merchant ${code(merchantId)}`],
        stocks: [],
      };
    }
    case 'ensureInventoryItem': {
      const { variantId, merchantId } = command.input;
      return {
        reference: `PRODUCT_VARIANT/${escapePart(variantId)}`,
        referenceType: 'PRODUCT_VARIANT',
        title: `PRODUCT_VARIANT ${variantId}`,
        short: `ensure item and stock at merchant ${plain(merchantId)}`,
        lines: [
          `Ensures the item of variant ${code(variantId)} and its stock at merchant ${code(merchantId)}`,
        ],
        stocks: [defaultStockId(variantId, merchantId)],
      };
    }
  }
}

/** As many legs as fit beside the rest; how many are left out is said, never hidden. */
function legLines(legs: readonly Leg[]): string[] {
  const lines: string[] = [];
  let bytes = 0;
  for (const leg of legs) {
    const line = `- ${code(leg.inventoryStockId)} ${code(signed(leg))}`;
    bytes += jsonBytes(line) + 2;
    if (bytes > DETAILS_BYTES - 3_000) {
      lines.push(`- and ${legs.length - lines.length} more: see the input`);
      break;
    }
    lines.push(line);
  }
  return lines;
}

/** `+5`, `-2.5`. */
function signed({ delta }: Leg): string {
  return delta.startsWith('-') ? delta : `+${delta}`;
}

function place({ partition, offset }: Source): string {
  return `partition ${partition}, offset ${offset}`;
}

/** Lines joined, cut at the end to the bytes that Temporal accepts, never inside a character. */
function fit(lines: string[], limitBytes: number): string {
  const whole = lines.join('\n');
  if (jsonBytes(whole) <= limitBytes) return whole;
  // Halving: asking for each character what it takes was dearer than grouping the commands.
  let fits = 0;
  let over = whole.length;
  while (over - fits > 1) {
    const middle = (fits + over) >> 1;
    if (jsonBytes(`${wholeCharacters(whole, middle)}…`) <= limitBytes) fits = middle;
    else over = middle;
  }
  return `${wholeCharacters(whole, fits)}…`;
}

/** The text up to `end`, without the first half of a character that would be cut there. */
function wholeCharacters(text: string, end: number): string {
  const last = text.charCodeAt(end - 1);
  return text.slice(0, last >= 0xd800 && last <= 0xdbff ? end - 1 : end);
}

function fitList(values: string[]): string[] {
  const kept: string[] = [];
  let bytes = 0;
  for (const value of values.map((v) => v.slice(0, KEYWORD_CHARACTERS))) {
    bytes += Buffer.byteLength(value);
    if (bytes > KEYWORD_LIST_BYTES) break;
    kept.push(value);
  }
  return kept;
}

function jsonBytes(text: string): number {
  return Buffer.byteLength(JSON.stringify(text));
}
