/** The tables of the document, each cell the least and the most of all runs. */
import { CONTENDERS, type ContenderName } from './contenders';
import { spanOf, type Backlog, type Latency, type Results, type Sample, type Span } from './results';
import { WORKLOADS, type WorkloadName } from './workloads';

export type BacklogSample = Extract<Sample, Backlog>;
export type LatencySample = Extract<Sample, Latency>;

export function backlogs(
  results: Results,
  contender?: ContenderName,
  workload?: WorkloadName,
): BacklogSample[] {
  return results.samples.filter(
    (sample): sample is BacklogSample =>
      sample.kind === 'backlog' &&
      (contender === undefined || sample.contender === contender) &&
      (workload === undefined || sample.workload === workload),
  );
}

export function latencies(results: Results, contender: ContenderName, perSecond: number): LatencySample[] {
  return results.samples.filter(
    (sample): sample is LatencySample =>
      sample.kind === 'latency' && sample.contender === contender && sample.perSecond === perSecond,
  );
}

/** Ratio to another contender, run by run: what slows one run down slows both. */
export function ratios(
  results: Results,
  contender: ContenderName,
  other: ContenderName,
  workload: WorkloadName,
): Span | undefined {
  const others = backlogs(results, other, workload);
  return spanOf(
    backlogs(results, contender, workload).map((sample) => {
      const pair = others.find((candidate) => candidate.run === sample.run);
      return pair && sample.perSecond / pair.perSecond;
    }),
  );
}

function measured(results: Results): { contenders: ContenderName[]; workloads: WorkloadName[] } {
  const all = backlogs(results);
  const names = Object.keys(CONTENDERS) as ContenderName[];
  return {
    contenders: names.filter((name) => all.some((sample) => sample.contender === name)),
    workloads: (Object.keys(WORKLOADS) as WorkloadName[]).filter((name) =>
      all.some((s) => s.workload === name),
    ),
  };
}

export function rateTable(results: Results): string {
  return byWorkload(results, (contender, workload) =>
    show(spanOf(backlogs(results, contender, workload).map((sample) => sample.perSecond))),
  );
}

export function ratioTable(results: Results): string {
  return byWorkload(results, (contender, workload) => show(ratios(results, contender, 'each', workload)));
}

export function cpuTable(results: Results): string {
  return byWorkload(results, (contender, workload) =>
    show(spanOf(backlogs(results, contender, workload).map((s) => sum(Object.values(s.cpuPerThousand))))),
  );
}

function byWorkload(
  results: Results,
  cell: (contender: ContenderName, workload: WorkloadName) => string,
): string {
  const { contenders, workloads } = measured(results);
  return table(
    ['', ...workloads.map((workload) => WORKLOADS[workload])],
    contenders.map((contender) => [
      CONTENDERS[contender],
      ...workloads.map((workload) => cell(contender, workload)),
    ]),
  );
}

export function latencyTable(results: Results): string {
  const rates = [
    ...new Set(results.samples.flatMap((s) => (s.kind === 'latency' ? [s.perSecond] : []))),
  ].sort((a, b) => a - b);
  if (rates.length === 0) return '';
  return table(
    ['', ...rates.flatMap((rate) => [`${rate}/s: p50 ms`, 'p99 ms', 'readable p50 ms', 'p99 ms'])],
    measured(results).contenders.map((contender) => [
      CONTENDERS[contender],
      ...rates.flatMap((rate) => {
        const samples = latencies(results, contender, rate);
        return [
          samples.map((sample) => sample.committedMs.p50),
          samples.map((sample) => sample.committedMs.p99),
          samples.map((sample) => sample.readableMs?.p50),
          samples.map((sample) => sample.readableMs?.p99),
        ].map((figures) => show(spanOf(figures)));
      }),
    ]),
  );
}

const SERVERS = ['restate-server', 'postgres', 'temporal'];

/** One line of an order, 500 stocks: what else an event takes. */
export function costTable(results: Results): string {
  const own = (name: string) => !['kafka', 'mongodb', ...SERVERS].includes(name);
  const head = [
    ...['', 'CPU s per 1,000: itself', 'its server', 'Kafka', 'MongoDB'],
    ...['peak MB: itself', 'its server', 'history events', 'actions', 'ledger bytes'],
  ];
  return table(
    head,
    measured(results).contenders.map((contender) => {
      const samples = backlogs(results, contender, 'one');
      const cpu = (which: (name: string) => boolean) =>
        show(spanOf(samples.map((sample) => sumOf(sample.cpuPerThousand, which))));
      const memory = (which: (name: string) => boolean) =>
        show(spanOf(samples.map((sample) => sumOf(sample.memoryMb, which))));
      const each = (figure: (sample: BacklogSample) => number | undefined) =>
        show(spanOf(samples.map(figure)));
      return [
        ...[CONTENDERS[contender], cpu(own), cpu((name) => SERVERS.includes(name))],
        ...[cpu((name) => name === 'kafka'), cpu((name) => name === 'mongodb')],
        ...[memory(own), memory((name) => SERVERS.includes(name))],
        each((sample) => sample.temporal && sample.temporal.historyEvents / sample.events),
        each((sample) => sample.temporal && sample.temporal.actions / sample.events),
        each((sample) => sample.bytesPerEvent),
      ];
    }),
  );
}

/** One row for each contender with each ledger size and number of processes. */
export function growthTable(results: Results): string {
  const kinds = new Map<string, BacklogSample[]>();
  for (const sample of backlogs(results)) {
    const kind = `${sample.contender} ${sample.ledger} ${sample.processes} ${sample.workload}`;
    kinds.set(kind, [...(kinds.get(kind) ?? []), sample]);
  }
  return table(
    [
      '',
      'workload',
      'entries beforehand',
      'processes',
      'events per second',
      'CPU s per 1,000',
      'MongoDB alone',
    ],
    [...kinds.values()].map((samples) => {
      const { contender, workload, ledger, processes } = samples[0]!;
      return [
        ...[CONTENDERS[contender], WORKLOADS[workload], ledger.toLocaleString('en'), String(processes)],
        show(spanOf(samples.map((sample) => sample.perSecond))),
        show(spanOf(samples.map((sample) => sum(Object.values(sample.cpuPerThousand))))),
        show(spanOf(samples.map((sample) => sample.cpuPerThousand['mongodb']))),
      ];
    }),
  );
}

function sumOf(figures: Record<string, number>, which: (name: string) => boolean): number | undefined {
  const chosen = Object.entries(figures).filter(([name]) => which(name));
  return chosen.length === 0 ? undefined : sum(chosen.map(([, figure]) => figure));
}

function sum(figures: readonly number[]): number {
  return figures.reduce((total, figure) => total + figure, 0);
}

/** `1,400–1,700`, or one number where both are shown alike, or a dash where nothing was measured. */
export function show(span: Span | undefined): string {
  if (!span) return '–';
  const [least, most] = [number(span.least), number(span.most)];
  return least === most ? least : `${least}–${most}`;
}

function number(figure: number): string {
  const digits = Math.abs(figure) >= 100 ? 0 : Math.abs(figure) >= 10 ? 1 : Math.abs(figure) >= 0.1 ? 2 : 4;
  return Number(figure.toFixed(digits)).toLocaleString('en', { maximumFractionDigits: digits });
}

export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  const rule = head.map((_, column) => (column === 0 ? '---' : '--:'));
  return [line(head), line(rule), ...rows.map(line)].join('\n');
}
