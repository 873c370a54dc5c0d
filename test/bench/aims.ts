/** What this product set out to reach, next to what the run says. */
import type { ContenderName } from './contenders';
import { spanOf, type Results, type Span } from './results';
import { backlogs, latencies, ratios, show, table } from './tables';

export function aimsTable(results: Results): string {
  const overBest = overBestRival(results);
  const ofBatch = ratios(results, 'grouped', 'batch', 'one');
  const ofEmpty = ratios(results, 'single', 'empty', 'one');
  const hot = spanOf(
    backlogs(results, 'grouped', 'hot').map(
      (sample) =>
        sample.perSecond /
        (backlogs(results, 'grouped', 'one').find((s) => s.run === sample.run)?.perSecond ?? NaN),
    ),
  );
  const actions = spanOf(
    backlogs(results, 'grouped', 'one').map((s) => s.temporal && s.temporal.actions / s.events),
  );
  const slow = latencies(results, 'single', 20);
  const p50 = spanOf(slow.map((sample) => sample.committedMs.p50));
  const p99 = spanOf(slow.map((sample) => sample.committedMs.p99));
  return table(
    ['aim', 'measured', 'reached in every run'],
    [
      ['backlog: 25 times the best of Restate and DBOS', times(overBest), least(overBest, 25)],
      ['backlog: 0.6 of one transaction per fetched batch', times(ofBatch), least(ofBatch, 0.6)],
      [
        'every event its own workflow: 0.85 of an empty workflow per event',
        times(ofEmpty),
        least(ofEmpty, 0.85),
      ],
      ['one hot stock, grouped: no slower than 500 stocks', times(hot), least(hot, 1)],
      ['backlog: fewer than 0.05 actions per event', show(actions), most(actions, 0.05)],
      ['20/s, every event its own workflow: p50 below 15 ms', `${show(p50)} ms`, most(p50, 15)],
      ['20/s, every event its own workflow: p99 below 40 ms', `${show(p99)} ms`, most(p99, 40)],
    ],
  );
}

/** The run in a sentence; empty where it did not measure what it compares. */
export function headline(results: Results): string {
  const overBest = overBestRival(results);
  const ofBatch = ratios(results, 'grouped', 'batch', 'one');
  if (!overBest || !ofBatch) return '';
  return `One line, 500 stocks, as it comes: **${times(overBest)} the better of Restate and DBOS**, ${times(ofBatch)} a hand-written consumer with one transaction per fetched batch.`;
}

/** Against the best run of either rival, not the one beside it. */
function overBestRival(results: Results): Span | undefined {
  const rate = (contender: ContenderName) =>
    spanOf(backlogs(results, contender, 'one').map((s) => s.perSecond));
  const best = Math.max(rate('restate')?.most ?? 0, rate('dbos')?.most ?? 0);
  const grouped = rate('grouped');
  return best > 0 && grouped ? { least: grouped.least / best, most: grouped.most / best } : undefined;
}

function times(span: Span | undefined): string {
  return span ? `${show(span)} times` : '–';
}

function least(span: Span | undefined, aim: number): string {
  return span ? (span.least >= aim ? 'yes' : 'no') : 'not measured';
}

function most(span: Span | undefined, aim: number): string {
  return span ? (span.most < aim ? 'yes' : 'no') : 'not measured';
}
