/** The pages and files that operators rely on say what the code does: variables, metrics, alerts, errors, codes. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { collectDefaultMetrics, Registry } from 'prom-client';
import { PAUSE_REASONS } from '../bridge/records';
import { EXIT } from '../cli/context';
import { variables } from '../config';
import { ERRORS, EXIT_CODES, LOG_LEVELS, PAUSES } from '../docs/errors';
import { ALERTS_FILE, readAlerts, reference, REFERENCE_FILE } from '../docs/reference';
import { TEMPORAL_VARIABLES, VARIABLE_MEANINGS } from '../docs/variables';
import { registry } from '../metrics';

const ROOT = path.join(__dirname, '..');
const MONITORING = path.dirname(ALERTS_FILE);
const read = (...parts: string[]) => readFileSync(path.join(...parts), 'utf8');
const sorted = (names: Iterable<string>) => [...new Set(names)].sort();

/** Sources of the product: what is not a test, a document or built. */
function sources(folder = ROOT): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const skipped = ['node_modules', 'dist', 'test', 'docs', '.git', '.stack'].includes(entry.name);
    const place = path.join(folder, entry.name);
    if (entry.isDirectory()) return skipped ? [] : sources(place);
    return entry.name.endsWith('.ts') ? [place] : [];
  });
}

interface Described {
  name: string;
  help: string;
  labelNames: string[];
}

function described(of: Registry): Described[] {
  return of.getMetricsAsArray() as unknown as Described[];
}

function processMetrics(): Registry {
  const register = new Registry();
  collectDefaultMetrics({ register });
  return register;
}

/** Series of a metric as Prometheus stores them: a histogram has three. */
const series = (names: string[]) => names.flatMap((n) => [n, `${n}_bucket`, `${n}_sum`, `${n}_count`]);

test('docs/reference.md is what the code says; `npm run reference` writes it', () => {
  expect(readFileSync(REFERENCE_FILE, 'utf8')).toBe(reference());
});

test('every variable, exit code, log level, pause reason and error class is on the page, and nothing else', () => {
  expect(sorted(Object.keys(VARIABLE_MEANINGS))).toEqual(sorted(Object.keys(variables.shape)));
  expect(sorted(Object.keys(EXIT_CODES))).toEqual(sorted([...Object.values(EXIT).map(String), '130', '143']));
  expect(sorted(Object.keys(LOG_LEVELS))).toEqual(sorted(variables.shape.LOG_LEVEL.unwrap().options));
  expect(sorted(Object.keys(PAUSES))).toEqual(sorted(PAUSE_REASONS));
  const text = sources().map((file) => readFileSync(file, 'utf8'));
  const classes = text.flatMap((source) =>
    [...source.matchAll(/class (\w+) extends (?:Error|\w*Error|Unavailable)\b/g)].map(([, name]) => name!),
  );
  const types = text.flatMap((source) =>
    [...source.matchAll(/nonRetryable\([^;]*?, '(\w+)'\)/gs)].map(([, name]) => name!),
  );
  expect(classes.length).toBeGreaterThan(10);
  expect(sorted(Object.keys(ERRORS))).toEqual(sorted([...classes, ...types]));
});

test("Temporal's variables on the page are those that its package reads", () => {
  const lib = path.join(path.dirname(require.resolve('@temporalio/envconfig')));
  const known = readdirSync(lib)
    .filter((file) => file.endsWith('.js'))
    .flatMap((file) => read(lib, file).match(/TEMPORAL_[A-Z_]+/g) ?? [])
    // The codec is for the command line only, and a path has a twin that holds the text.
    .filter((name) => !name.startsWith('TEMPORAL_CODEC_') && !name.endsWith('_DATA'));
  expect(sorted(TEMPORAL_VARIABLES.map(([name]) => name.replace('…', '')))).toEqual(sorted(known));
});

test('labels are from a closed set, and none can hold an ID', () => {
  const labels = described(registry).flatMap(({ labelNames }) => labelNames);
  const closed = [
    'activity',
    'became',
    'came_in',
    'case',
    'decision',
    'error',
    'outcome',
    'part',
    'partition',
  ];
  const more = ['reason', 'reference_type', 'result', 'status', 'topic', 'workflow'];
  expect(sorted(labels)).toEqual([...closed, ...more]);
  for (const { name, help } of described(registry)) {
    expect(name).toMatch(/^inventory_(ready$|bridge_|worker_)/);
    expect(help.length).toBeGreaterThan(20);
  }
});

/** Names that look like metrics in an expression: functions and labels have no such prefix. */
const metricsIn = (expression: string) =>
  expression.match(/\b(?:inventory|temporal|process|nodejs)_\w+/g) ?? [];
const panels = () => (JSON.parse(read(MONITORING, 'grafana-dashboard.json')) as { panels: Panel[] }).panels;
interface Panel {
  id: number;
  type: string;
  title: string;
  description?: string;
  targets?: { expr: string }[];
}

test('every metric that dashboard and alerts name exists, and every one of ours is in the dashboard', () => {
  const ours = described(registry).map(({ name }) => name);
  const known = new Set([...series(ours), ...series(described(processMetrics()).map(({ name }) => name))]);
  const shown = panels().flatMap(({ targets = [] }) => targets.flatMap(({ expr }) => metricsIn(expr)));
  const alerted = readAlerts().flatMap(({ expr }) => metricsIn(expr));
  // Those of the SDK are held against its real endpoint in watch.system.test.ts.
  const unknown = [...shown, ...alerted].filter((name) => !known.has(name) && !name.startsWith('temporal_'));
  expect(unknown).toEqual([]);
  const missing = ours.filter((name) => !shown.some((one) => series([name]).includes(one)));
  expect(missing).toEqual([]);
});

test('labels in dashboard and alerts are labels of the metric they stand at', () => {
  const byName = new Map(described(registry).map((m) => [m.name, m.labelNames]));
  const all = [
    ...panels().flatMap(({ targets = [] }) => targets.map((t) => t.expr)),
    ...readAlerts().map((r) => r.expr),
  ];
  let checked = 0;
  for (const expr of all) {
    for (const [, name, selector] of expr.matchAll(/\b(inventory_\w+)\{([^}]*)\}/g)) {
      const labels = byName.get(name!) ?? byName.get(name!.replace(/_(bucket|sum|count)$/, '')) ?? [];
      for (const [, label] of selector!.matchAll(/(\w+)\s*(?:=~|!~|!=|=)/g)) {
        checked++;
        expect([name, ...labels, 'job', 'instance', 'le']).toContain(label);
      }
    }
  }
  expect(checked).toBeGreaterThan(30);
});

test('the dashboard can be imported: titles, descriptions, no two panels with one ID', () => {
  const all = panels();
  expect(new Set(all.map(({ id }) => id)).size).toBe(all.length);
  for (const { type, title, description, targets } of all) {
    expect(title).not.toBe('');
    if (type === 'row') continue;
    expect([title, description ?? '']).toEqual([title, expect.stringMatching(/.{10,}/)]);
    expect(targets!.length).toBeGreaterThan(0);
  }
});

test('every alert has its paragraph in the runbook, and every paragraph its alert', () => {
  const runbook = read(ROOT, 'docs', 'runbook.md');
  const headings = [...runbook.matchAll(/^## (\w+)$/gm)].map(([, name]) => name!);
  expect(sorted(headings)).toEqual(sorted(readAlerts().map(({ alert }) => alert)));
  for (const { alert, labels, annotations, for: wait } of readAlerts()) {
    expect(annotations.runbook_url).toBe(`docs/runbook.md#${alert.toLowerCase()}`);
    expect(['page', 'ticket', 'info']).toContain(labels.severity);
    expect(annotations.summary).toMatch(/\.$/);
    // Nobody is woken by what may be over in a moment.
    if (labels.severity === 'page') expect(wait).toMatch(/^\d+m$/);
    const paragraph = runbook.split(`## ${alert}\n`)[1]!.split('\n## ')[0]!;
    expect(paragraph.trim().length).toBeGreaterThan(150);
  }
});

test('the runbook names only verbs and pages that exist', () => {
  const runbook = read(ROOT, 'docs', 'runbook.md');
  const verbs = new Set(
    sources(path.join(ROOT, 'cli')).flatMap((file) =>
      [...readFileSync(file, 'utf8').matchAll(/\.command\('([\w-]+)'/g)].map(([, verb]) => verb!),
    ),
  );
  for (const [, verb] of runbook.matchAll(/`inventory ([\w-]+)/g)) expect([...verbs]).toContain(verb);
  for (const [, file] of runbook.matchAll(/\]\(([\w./-]+\.(?:md|yml))/g))
    expect(() => read(ROOT, 'docs', file!)).not.toThrow();
});

test('promtool, where it is installed, accepts the rules, their unit tests and every query of the dashboard', () => {
  const program = process.env['PROMTOOL'] ?? 'promtool';
  const has = spawnSync(program, ['--version']).status === 0;
  const run = (...args: string[]) => spawnSync(program, args, { cwd: MONITORING, encoding: 'utf8' });
  // Without it there is still the structure, checked above; this test then only says that rules can be read.
  expect(readAlerts().length).toBeGreaterThan(10);
  if (!has) return;
  expect(run('check', 'rules', 'alerts.yml')).toMatchObject({ status: 0 });
  expect(run('test', 'rules', 'alerts.test.yml')).toMatchObject({ status: 0 });
  // It knows no dashboards, but a query is what a recording rule holds.
  const folder = mkdtempSync(path.join(tmpdir(), 'inventory-queries-'));
  const rules = panels()
    .flatMap(({ targets = [] }) => targets)
    .map(({ expr }, index) => ({
      record: `q${index}`,
      expr: expr.replaceAll('$__rate_interval', '5m').replaceAll('$job', '.*'),
    }));
  writeFileSync(path.join(folder, 'queries.yml'), JSON.stringify({ groups: [{ name: 'queries', rules }] }));
  expect(run('check', 'rules', path.join(folder, 'queries.yml'))).toMatchObject({
    status: 0,
    stdout: expect.stringContaining(`${rules.length} rules found`) as string,
  });
  rmSync(folder, { recursive: true });
});
