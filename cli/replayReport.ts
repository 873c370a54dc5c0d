/** What a replay would change, or has changed, for people and programs. */
import type Big from 'big.js';
import type { Span } from '../bridge/replaySpans';
import { print, printJson, printTable, visible } from './context';
import { count, paint } from './progress';
import type { Counts } from './replayCounts';

export interface Report {
  topic: string;
  spans?: Span[];
  records: number;
  seconds?: number;
  forecast: Counts;
  /** What each stock would change by. */
  changes: [string, Big][];
  notes: string[];
  /** After `--apply`: what the records came to, and where that is not the forecast. */
  done?: Counts;
  differences?: string[];
}

const MEANING: Record<keyof Counts, string> = {
  'would-apply': 'not in the ledger: would be applied',
  'would-create': 'would create what the catalogue lacks',
  conflict: 'the ledger holds other quantities: would wait for a person',
  'would-refuse': 'would take a stock below zero where policy refuses it: would wait for a person',
  'unknown-stock': 'names a stock that does not exist: would wait for it',
  'broken-stock': 'its stock has an on hand that is no number: mend the document first',
  undecodable: 'at fault: is a dead letter; a replay does not write it again',
  parked: 'waits for a person already',
  'refused-earlier': 'was refused before, and stays refused',
  repeated: 'stands in this span before: would be a duplicate',
  'already-applied': 'in the ledger: nothing would change',
  'already-there': 'in the catalogue: nothing would change',
  ignored: 'asks for nothing',
};

const MAX_STOCKS = 50;

export function printReplay(report: Report, json = false): void {
  const { topic, records, seconds, forecast, changes, notes, done, differences } = report;
  if (json) {
    printJson({
      ...report,
      spans: report.spans?.map(({ partition, from, to }) => ({
        partition,
        from: String(from),
        to: String(to),
      })),
      changes: changes.map(([stockId, change]) => ({ stockId, change: change.toFixed() })),
    });
    return;
  }
  notes.forEach((note) => print(visible(note)));
  const rate = seconds ? `, ${count(Math.round(records / seconds))} records/s` : '';
  print(`${visible(topic)}: ${count(records)} records${done ? ' carried out' : ' read'}${rate}`);
  const names = (Object.keys(MEANING) as (keyof Counts)[]).filter((name) => forecast[name] || done?.[name]);
  const head = done ? ['records', 'forecast', 'what', ''] : ['records', 'what', ''];
  printTable(
    head,
    names.map((name) => {
      const numbers = done
        ? [count(done[name] ?? 0), count(forecast[name] ?? 0)]
        : [count(forecast[name] ?? 0)];
      return [...numbers, name, MEANING[name]];
    }),
    done ? [0, 1] : [0],
  );
  if (!done && changes.length > 0) {
    print('');
    const shown = [...changes].sort(([, a], [, b]) => b.abs().cmp(a.abs())).slice(0, MAX_STOCKS);
    printTable(
      ['stock', 'would change by'],
      shown.map(([stockId, change]) => [stockId, `${change.gt(0) ? '+' : ''}${change.toFixed()}`]),
      [1],
    );
    if (changes.length > MAX_STOCKS) print(`and ${count(changes.length - MAX_STOCKS)} more stocks: --json`);
  }
  if (!differences) return;
  if (differences.length === 0) print(paint('all came as forecast', 'green'));
  differences.forEach((difference) => print(paint(visible(difference), 'yellow')));
}
