/**
 * Writes tables and plot into docs/benchmark.md and the README, between their markers; everything else there is written
 * by people.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import prettier from 'prettier';
import { aimsTable, headline } from './aims';
import { plot } from './plot';
import { CONTENDERS } from './contenders';
import { readRaw, type Results, type Sample } from './results';
import { ROOT } from './rivalServers';
import { costTable, cpuTable, growthTable, latencyTable, rateTable, ratioTable } from './tables';
import { WORKLOADS } from './workloads';

/** @param out folder of document, plot and raw files; without a document in it, one with the tables alone is made */
export async function writeDocument(out: string): Promise<void> {
  const file = path.join(out, 'benchmark.md');
  let text = existsSync(file) ? readFileSync(file, 'utf8') : '';
  const main = read(path.join(out, 'benchmark.jsonl'));
  if (main) {
    text = between(text, 'benchmark', mainPart(main));
    writeFileSync(path.join(out, 'benchmark.svg'), plot(main));
  }
  const server = read(path.join(out, 'benchmark-server.jsonl'));
  if (server) text = between(text, 'server', serverPart(server));
  const growth = read(path.join(out, 'benchmark-growth.jsonl'));
  if (growth) text = between(text, 'growth', [whereText(growth), growthTable(growth)].join('\n\n'));
  await write(file, text);
  // Figures of another folder are somebody's own.
  if (main && path.resolve(out) === path.join(ROOT, 'docs')) {
    const readme = path.join(ROOT, 'README.md');
    await write(readme, between(readFileSync(readme, 'utf8'), 'benchmark', readmePart(main)));
  }
}

async function write(file: string, text: string): Promise<void> {
  const options = await prettier.resolveConfig(file);
  writeFileSync(file, await prettier.format(text, { ...options, parser: 'markdown' }));
}

function read(file: string): Results | undefined {
  return existsSync(file) ? readRaw(file) : undefined;
}

function mainPart(results: Results): string {
  return [
    whereText(results),
    '![Events per second by contender](benchmark.svg)',
    '### Backlog: events per second',
    rateTable(results),
    '### The same as ratios',
    'Each run against one transaction per event in the same run.',
    ratioTable(results),
    ...captioned('### Latency', latencyTable(results)),
    '### Processor seconds per 1,000 events',
    cpuTable(results),
    '### Memory, history, bytes',
    costTable(results),
    '### Aims',
    aimsTable(results),
    failures(results),
  ]
    .filter(Boolean)
    .join('\n\n');
}

function serverPart(results: Results): string {
  return [
    whereText(results),
    ...captioned('**Backlog: events per second**', rateTable(results)),
    ...captioned('**Latency**', latencyTable(results)),
    ...captioned('**Aims**', aimsTable(results)),
    failures(results),
  ]
    .filter(Boolean)
    .join('\n\n');
}

function captioned(caption: string, text: string): string[] {
  return text ? [caption, text] : [];
}

function readmePart(results: Results): string {
  const { where, samples } = results;
  return [
    `Events per second out of a backlog, least and most of ${runsText(samples)}, on ${where.machine}, with Kafka, MongoDB, Temporal (${where.temporal}) and the producer on it too (${where.date}).`,
    rateTable(results),
    headline(results),
    '![Events per second by contender](docs/benchmark.svg)',
    disturbance(results),
  ]
    .filter(Boolean)
    .join('\n\n');
}

function whereText({ where, samples }: Results): string {
  const loads = samples.map((sample) => sample.load);
  const versions = Object.entries(where.versions).map(([name, version]) => `${name} ${version}`);
  return [
    `- Measured ${where.date}, ${runsText(samples)} (\`--events ${where.events}\`), on ${where.machine}; contenders, servers and producer all on it.`,
    `- One-minute load average before each measurement ${Math.min(...loads).toFixed(1)} to ${Math.max(...loads).toFixed(1)}, the measurements' own load included.`,
    `- Temporal: ${where.temporal}.`,
    `- Versions: ${versions.join(', ')}.`,
    `- ${checks(samples)}`,
    disturbance({ where, samples }),
  ]
    .filter(Boolean)
    .join('\n');
}

function runsText(samples: Results['samples']): string {
  const runs = Math.max(...samples.map((sample) => sample.run));
  return runs === 1 ? '1 run' : `${runs} runs`;
}

/** Which measurements began while the machine had more to do than measurements make; empty when none did. */
function disturbance({ where, samples }: Results): string {
  const disturbed = samples.filter((sample) => sample.load > where.cores * BUSY);
  if (disturbed.length === 0) return '';
  if (disturbed.length > samples.length * FEW) return busyText(disturbed.length, samples.length);
  const names = disturbed.map(
    (sample) =>
      `${CONTENDERS[sample.contender]}, ${measuredOf(sample)}, in run ${sample.run} (load average ${sample.load.toFixed(1)})`,
  );
  return `- Other programs may have slowed ${disturbed.length} of ${samples.length} measurements: ${names.join('; ')}.`;
}

function measuredOf(sample: Sample): string {
  if (sample.kind === 'backlog') return WORKLOADS[sample.workload];
  return sample.kind === 'latency' ? `latency at ${sample.perSecond}/s` : sample.of;
}

/** The measurements alone come to about two waiting programs a core. */
const BUSY = 3;
const FEW = 0.1;

function busyText(disturbed: number, all: number): string {
  return (
    `- **The machine had more to do than measurements make: before ${disturbed} of ${all} of them the load average was ` +
    `above ${BUSY} a core**, by other programs or by a Temporal that is not counted here. Since contenders met different ` +
    'loads, ratios between them say less, and rates and latencies are not what the machine can do. Processor seconds ' +
    'are too high as well, most for whoever took long. History, bytes and ledger checks stand.'
  );
}

function checks(samples: Results['samples']): string {
  const checked = samples.flatMap((sample) =>
    'check' in sample && sample.check !== 'no ledger' ? [sample.check] : [],
  );
  const broken = checked.filter((check) => check !== 'holds');
  return `Ledger checks: ${checked.length} made, ${checked.length - broken.length} hold${broken.length > 0 ? `; broken: ${broken.join('; ')}` : ''}.`;
}

function failures({ samples }: Results): string {
  const lines = samples.flatMap((sample) =>
    sample.kind === 'failure'
      ? [`- run ${sample.run}, ${sample.contender}, ${sample.of}: ${sample.reason}`]
      : [],
  );
  return lines.length > 0 ? ['Not measured:', ...lines].join('\n') : '';
}

/** The text with the part between its markers; at the end where the text has none, so that no figure is lost. */
function between(text: string, name: string, part: string): string {
  const [begin, end] = [`<!-- ${name}:begin -->`, `<!-- ${name}:end -->`];
  const from = text.indexOf(begin);
  const to = text.indexOf(end);
  if (from < 0 || to < from) return `${text}\n\n${begin}\n\n${part}\n\n${end}\n`;
  return `${text.slice(0, from + begin.length)}\n\n${part}\n\n${text.slice(to)}`;
}
