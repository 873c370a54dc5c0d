/** What a person reads of a workflow in the Web UI. */
import { defineSearchAttributeKey } from '@temporalio/common';
import { setCurrentDetails, upsertSearchAttributes } from '@temporalio/workflow';
import { SEARCH_ATTRIBUTES, type MoveStockResult, type Outcome } from '../commands';

const outcomeKey = defineSearchAttributeKey(SEARCH_ATTRIBUTES.outcome, 'KEYWORD');
const MAX_LINES = 50;

/** Makes an outcome that is not the usual one searchable. An upsert costs the visibility store a write. */
export function showOutcome(outcome: Outcome): void {
  upsertSearchAttributes([{ key: outcomeKey, value: outcome }]);
}

/** Sets the details that the Web UI shows while the workflow runs and after it. */
export function showResult(result: MoveStockResult, note = ''): void {
  setCurrentDetails([`**${result.outcome}**`, ...describe(result), note].filter(Boolean).join('\n\n'));
}

function describe(result: MoveStockResult): string[] {
  switch (result.outcome) {
    case 'APPLIED':
      return lines(
        result.legs.map(
          (leg) =>
            `${code(leg.inventoryStockId)} ${leg.delta}, on hand ${leg.onHandAfter}${leg.belowZero ? ' (below zero)' : ''}`,
        ),
      );
    case 'DUPLICATE':
      return [
        `Recorded already at ${result.of.recordedAt} by ${code(result.of.workflowId)}; stock untouched.`,
      ];
    case 'CONFLICT':
      return [
        `The ledger holds this reference with other quantities, from ${code(result.of.workflowId)}; stock untouched.`,
        ...lines(
          result.differences.map(
            (d) =>
              `${code(d.inventoryStockId)} recorded ${d.recorded}, asked ${d.asked}, difference ${d.difference}`,
          ),
        ),
      ];
    case 'REFUSED':
      return lines(
        result.short.map(
          (s) => `${code(s.inventoryStockId)} has ${s.onHand}, wanted ${s.wanted}; stock untouched`,
        ),
      );
    case 'UNKNOWN_STOCK':
      return [
        'Waiting for the catalogue to bring these stocks:',
        ...lines(result.missing.map((id) => code(id))),
      ];
  }
}

function lines(texts: string[]): string[] {
  const shown = texts.slice(0, MAX_LINES).map((text) => `- ${text}`);
  if (texts.length > MAX_LINES) shown.push(`- and ${texts.length - MAX_LINES} more`);
  return [shown.join('\n')];
}

/** An ID as Markdown code. IDs come from events: a backtick must not end the code span. */
function code(id: string): string {
  return `\`${id.replaceAll('`', "'")}\``;
}
