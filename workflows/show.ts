/** What a person reads of a workflow in the Web UI. */
import { defineSearchAttributeKey, type SearchAttributePair } from '@temporalio/common';
import { setCurrentDetails, upsertSearchAttributes, workflowInfo } from '@temporalio/workflow';
import {
  SEARCH_ATTRIBUTES,
  type MoveStock,
  type MoveStockResult,
  type Outcome,
  type Source,
} from '../commands';
import { choices, parkedAttribute, type Decided, type Parked } from '../decisions';
import { code, plain } from '../markdown';

const outcomeKey = defineSearchAttributeKey(SEARCH_ATTRIBUTES.outcome, 'KEYWORD');
const stocksKey = defineSearchAttributeKey(SEARCH_ATTRIBUTES.stocks, 'KEYWORD_LIST');
const MAX_LINES = 50;
/** A visibility store keeps a list in 2,048 bytes; an ID has at most 120. */
const MAX_SEARCHABLE = 12;

/** Makes an outcome that is not the usual one searchable. An upsert costs the visibility store a write. */
export function showOutcome(outcome: Outcome): void {
  upsertSearchAttributes([{ key: outcomeKey, value: outcome }]);
}

/** Sets the details that the Web UI shows while the workflow runs and after it. */
export function showResult(result: MoveStockResult, note = ''): void {
  setCurrentDetails([`**${result.outcome}**`, ...describe(result), note].filter(Boolean).join('\n\n'));
}

/**
 * Shows a parked command: one line that says it all, what stands against it, and what each decision would do.
 * @param before how it was shown before
 */
export function showParked(
  command: MoveStock,
  { here, of }: Parked & Required<Pick<Parked, 'here'>>,
  before: Parked | undefined,
): void {
  const { against, until } = here;
  if (before?.here?.against.outcome !== against.outcome) {
    upsertSearchAttributes([
      { key: outcomeKey, value: parkedAttribute(against.outcome) },
      ...stocksOf(command),
    ]);
  }
  setCurrentDetails(
    [
      `**PARKED, ${against.outcome}**: ${plain(`${command.referenceType} ${command.referenceId}`)} waits for a decision until ${until}; stock untouched.`,
      `Asked by ${place(command.source)}; parked at ${of.recordedAt}.`,
      ...describe(against),
      'What each decision would do (Update `resolve`, or `inventory parked resolve`):',
      ...lines(
        choices(against, code).map(({ decision, fits, does }) =>
          fits ? `**${decision}** ${does}` : `~~${decision}~~ ${does}`,
        ),
      ),
    ].join('\n\n'),
  );
}

function describe(result: MoveStockResult): string[] {
  switch (result.outcome) {
    case 'APPLIED':
      return [
        ...decidedBy(result.decided),
        ...lines(
          result.legs.map(
            (leg) =>
              `${code(leg.inventoryStockId)} ${leg.delta}, on hand ${leg.onHandAfter}${leg.belowZero ? ' (below zero)' : ''}`,
          ),
        ),
      ];
    case 'DUPLICATE':
      return [
        `Recorded already at ${result.of.recordedAt} by ${code(result.of.workflowId)}; stock untouched.`,
      ];
    case 'PARKED':
      return [
        `Waits for a decision in ${code(result.of.workflowId)} since ${result.of.recordedAt}; stock untouched.`,
      ];
    case 'CONFLICT':
      return [
        `The ledger holds this reference with other quantities, from ${code(result.of.workflowId)}, ${place(result.of.source)}; stock untouched.`,
        ...lines(
          result.differences.map(
            (d) =>
              `${code(d.inventoryStockId)} recorded ${d.recorded}, asked ${d.asked}, difference ${d.difference}`,
          ),
        ),
      ];
    case 'REFUSED':
      return 'short' in result
        ? lines(
            result.short.map(
              (s) => `${code(s.inventoryStockId)} has ${s.onHand}, wanted ${s.wanted}; stock untouched`,
            ),
          )
        : [...decidedBy(result.decided), `Recorded at ${result.of.recordedAt}; stock untouched.`];
    case 'UNKNOWN_STOCK':
      return [
        'Waiting for the catalogue to bring these stocks:',
        ...lines(result.missing.map((id) => code(id))),
      ];
  }
}

/** What a person wrote is shown as it was written. */
function decidedBy(decided: Decided | undefined): string[] {
  if (!decided) return [];
  return [`Decided by ${plain(decided.actor)}: ${decided.decision}, because ${plain(decided.reason)}`];
}

/** A command out of a group was started without its stocks, and a person looks for what is parked by them. */
function stocksOf({ legs }: MoveStock): SearchAttributePair[] {
  if (workflowInfo().typedSearchAttributes.get(stocksKey) !== undefined) return [];
  return [{ key: stocksKey, value: legs.slice(0, MAX_SEARCHABLE).map((leg) => leg.inventoryStockId) }];
}

function place({ topic, partition, offset }: Source): string {
  return `${plain(topic)}, partition ${partition}, offset ${offset}`;
}

function lines(texts: string[]): string[] {
  if (texts.length === 0) return [];
  const shown = texts.slice(0, MAX_LINES).map((text) => `- ${text}`);
  if (texts.length > MAX_LINES) shown.push(`- and ${texts.length - MAX_LINES} more`);
  return [shown.join('\n')];
}
