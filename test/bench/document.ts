/**
 * Writes tables and plot into docs/benchmark.md and the README, between their markers; everything else there is written
 * by people.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import prettier from 'prettier';
import { aimsTable, headline } from './aims';
import { plot } from './plot';
import { readRaw, type Results } from './results';
import { ROOT } from './rivalServers';
import { costTable, cpuTable, growthTable, latencyTable, rateTable, ratioTable } from './tables';

/** @param out folder of document, plot and raw files; without a document in it, one with the tables alone is made */
export async function writeDocument(out: string): Promise<void> {
  const file = path.join(out, 'benchmark.md');
  let text = existsSync(file)
    ? readFileSync(file, 'utf8')
    : ['benchmark', 'server', 'growth'].map(markers).join('\n\n');
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
    ...(results.samples.some(({ kind }) => kind === 'latency') ? ['### Latency', latencyTable(results)] : []),
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
    rateTable(results),
    latencyTable(results),
    aimsTable(results),
    failures(results),
  ]
    .filter(Boolean)
    .join('\n\n');
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
    `- Measured ${where.date}, ${runsText(samples)}, on ${where.machine}; contenders, servers and producer all on it.`,
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
  if (disturbed.length > samples.length * FEW) return BUSY_TEXT;
  const names = disturbed.map(
    (sample) => `\`${sample.contender}\` in run ${sample.run} (load average ${sample.load.toFixed(1)})`,
  );
  return `- Other programs may have slowed ${disturbed.length} of ${samples.length} measurements: ${names.join(', ')}.`;
}

/** The measurements alone come to about two waiting programs a core. */
const BUSY = 3;
const FEW = 0.1;
const BUSY_TEXT =
  '- **Other programs kept the machine busy during this run.** Rates and latencies are far from what it can do, and ' +
  'since contenders met different loads, ratios between them say little. Processor seconds are too high as well, most ' +
  'for whoever took long, because waiting and polling cost too. History, bytes and ledger checks stand.';

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

function markers(name: string): string {
  return `<!-- ${name}:begin -->\n\n<!-- ${name}:end -->`;
}

function between(text: string, name: string, part: string): string {
  const [begin, end] = markers(name).split('\n\n') as [string, string];
  const from = text.indexOf(begin);
  const to = text.indexOf(end);
  if (from < 0 || to < from) throw new Error(`a document has lost its markers ${begin} and ${end}`);
  return `${text.slice(0, from + begin.length)}\n\n${part}\n\n${text.slice(to)}`;
}
