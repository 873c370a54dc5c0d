/** `npm run reference`: writes `docs/reference.md` from the code. A test fails when the page and the code differ. */
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import ms from 'ms';
import { collectDefaultMetrics, Registry } from 'prom-client';
import { parse } from 'yaml';
import { z } from 'zod';
import { PAUSE_REASONS } from '../bridge/records';
import { IGNORED_REASONS } from '../bridge/topics';
import { describeConfig, DURATIONS, readConfig, variables } from '../config';
import { registry } from '../metrics';
import { ERRORS, EXIT_CODES, LOG_LEVELS, PAUSES } from './errors';
import { TEMPORAL_VARIABLES, VARIABLE_MEANINGS } from './variables';

/** The repository: this file runs from its source as well as from `dist/docs`. */
const ROOT = path.join(__dirname, path.basename(path.dirname(__dirname)) === 'dist' ? '../..' : '..');
export const REFERENCE_FILE = path.join(ROOT, 'docs', 'reference.md');
export const ALERTS_FILE = path.join(ROOT, 'deploy', 'monitoring', 'alerts.yml');

export interface AlertRule {
  alert: string;
  expr: string;
  for?: string;
  labels: { severity: string };
  annotations: { summary: string; runbook_url: string };
}

export function readAlerts(): AlertRule[] {
  const { groups } = parse(readFileSync(ALERTS_FILE, 'utf8')) as { groups: { rules: AlertRule[] }[] };
  return groups.flatMap((group) => group.rules);
}

/** The whole page. */
export function reference(): string {
  return `# Reference

Written by \`npm run reference\` from the code; a test fails when the two differ.

## Variables

From the environment or a \`.env\` file in the working directory; the environment wins, and an empty variable is one
that is not set. \`inventory config\` prints what is in force, secrets masked.

${table(['variable', 'default', 'accepted', 'meaning'], variableRows())}

Temporal's own variables, as every Temporal program reads them
([environment configuration](https://docs.temporal.io/develop/environment-configuration)):

${table(
  ['variable', 'default', 'meaning'],
  TEMPORAL_VARIABLES.map(([name, fallback, meaning]) => [code(name), code(fallback), meaning]),
)}

## Metrics

Served at \`/metrics\` on \`HTTP_HOST\` and \`HTTP_PORT\`. Labels hold names from closed sets and partition numbers, never an ID.
A bridge without a worker shows the worker's metrics without values, and the other way round.

${table(['metric', 'type', 'labels', 'meaning'], metricRows(registry))}

Of the process, by prom-client:

${table(['metric', 'type', 'labels', 'meaning'], metricRows(defaults()))}

Temporal's SDK serves its own (\`temporal_…\`, [list](https://docs.temporal.io/references/sdk-metrics)) on
\`SDK_METRICS_PORT\`.

## Alerts

In [deploy/monitoring/alerts.yml](../deploy/monitoring/alerts.yml); what to do is in [runbook.md](runbook.md).

${table(
  ['alert', 'severity', 'for', 'meaning'],
  readAlerts().map((rule) => [
    `[${rule.alert}](runbook.md#${rule.alert.toLowerCase()})`,
    rule.labels.severity,
    rule.for ?? '',
    rule.annotations.summary.replace(/\{\{ *\$(?:labels\.)?(\w+)[^}]*\}\}/g, '‹$1›'),
  ]),
)}

## Readiness

\`/healthz\` answers 200 while the process lives. \`/readyz\` answers 200, or 503 when no progress is possible, with
the reasons: \`{"ready":false,"parts":{"worker":{"ready":false,"reasons":["MongoDB has not answered for 12 s: …"]}}}\`.

## Exit codes

${table(['code', 'meaning'], Object.entries(EXIT_CODES))}

## Logs

JSON lines on standard error, or readable text on a terminal. A line about a command has \`reference\`,
\`workflowId\` and \`source\` (topic, partition, offset); one about a group has \`workflowId\` and how many
\`commands\`. Lines that Temporal's
SDK writes about a workflow have no \`source\`. No line above \`debug\` holds anything of an event but the IDs in these
fields.

${table(
  ['level', 'meaning'],
  Object.entries(LOG_LEVELS).map(([level, meaning]) => [code(level), meaning]),
)}

## Errors

${table(
  ['error', 'where', 'meaning', 'what to do'],
  Object.entries(ERRORS).map(([name, { where, meaning, remedy }]) => [code(name), where, meaning, remedy]),
)}

## Why a partition waits

Label \`reason\` of \`inventory_bridge_paused_partitions\`, and in \`/readyz\`.

${table(
  ['reason', 'meaning'],
  PAUSE_REASONS.map((reason) => [code(reason), PAUSES[reason] ?? '']),
)}

## Why a record is ignored

Label \`reason\` of \`inventory_bridge_ignored_total\`: ${IGNORED_REASONS.map(code).join(', ')}.
`;
}

function variableRows(): string[][] {
  const defaults = new Map(
    describeConfig(readConfig({}))
      .split('\n')
      .map((line) => line.split(/=(.*)/s) as [string, string]),
  );
  return Object.entries(VARIABLE_MEANINGS).map(([name, meaning]) => [
    code(name),
    code(defaults.get(name) ?? ''),
    accepted(name),
    meaning,
  ]);
}

interface JsonSchema {
  enum?: string[];
  minimum?: number;
  maximum?: number;
}

/** Limits as the schema has them; what it cannot say in numbers or words stands in the meaning. */
function accepted(name: string): string {
  const of = (io: 'input' | 'output') =>
    (z.toJSONSchema(variables, { io, unrepresentable: 'any' }).properties as Record<string, JsonSchema>)[
      name
    ];
  const words = of('input')?.enum;
  if (words) return words.map(code).join(', ');
  const { minimum, maximum } = of('output') ?? {};
  if (minimum === undefined || maximum === undefined) return '';
  const show = (limit: number) => (DURATIONS.has(name) ? ms(limit) : String(limit));
  return `${show(minimum)} to ${show(maximum)}`;
}

function metricRows(of: Registry): string[][] {
  return of.getMetricsAsArray().map((metric) => {
    // Not in the types, and nowhere else before the first value.
    const { labelNames = [] } = metric as unknown as { labelNames?: string[] };
    const { name, help, type } = metric as unknown as { name: string; help: string; type?: string };
    const kind = type ?? metric.constructor.name.toLowerCase();
    return [code(name), kind, labelNames.map(code).join(', '), help];
  });
}

function defaults(): Registry {
  const register = new Registry();
  collectDefaultMetrics({ register });
  return register;
}

function code(text: string): string {
  return text === '' ? '' : `\`${text}\``;
}

/** Columns as wide as needed, as the formatter has them. */
function table(head: string[], rows: string[][]): string {
  const cells = [head, ...rows].map((row) => row.map((cell) => cell.replaceAll('|', '\\|')));
  const widths = head.map((_, column) => Math.max(3, ...cells.map((row) => row[column]?.length ?? 0)));
  const line = (row: string[]) =>
    `| ${row.map((cell, column) => cell.padEnd(widths[column]!)).join(' | ')} |`;
  return [line(cells[0]!), line(widths.map((width) => '-'.repeat(width))), ...cells.slice(1).map(line)].join(
    '\n',
  );
}

if (require.main === module) writeFileSync(REFERENCE_FILE, reference());
