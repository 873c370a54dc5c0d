/** The table of a run, as Markdown. */
import os from 'node:os';
import path from 'node:path';
import { readFileSync } from 'node:fs';
import type { Bite, Campaign } from './campaign';
import { groupBy } from './group';
import type { Lab } from './lab';

/** Versions of everything that took part. */
export async function versions(lab: Lab): Promise<string[]> {
  const of = (name: string) => {
    const file = path.join(path.dirname(require.resolve(`${name}/package.json`)), 'package.json');
    return `${name} ${(JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version}`;
  };
  const { version } = (await lab.mongoClient.db('admin').command({ buildInfo: 1 })) as { version: string };
  const temporal = await lab.temporal.workflowService.getSystemInfo({});
  return [
    `Node ${process.versions.node}`,
    of('kafkajs'),
    of('mongoose'),
    of('@temporalio/worker'),
    `MongoDB ${version}`,
    `Temporal ${temporal.serverVersion ?? ''}`,
  ];
}

export function report(
  { bites, verdict, seconds }: Campaign,
  about: { seed: number; versions: string[]; lab: Lab },
): string {
  const { lab } = about;
  const byFault = groupBy(bites, ({ fault }) => fault);
  const rows = [...byFault].map(([fault, list]) => {
    const bitten = list.filter(({ proof }) => proof !== undefined);
    const shown = bitten.at(-1)?.proof ?? `**${list.at(-1)?.problem ?? ''}**`;
    return `| \`${fault.name}\` | ${fault.does} | ${list.length} | ${bitten.length} | ${recovery(list)} | ${cell(shown)} |`;
  });
  const { load, product } = lab;
  const died = product.deaths.map(({ name, how, lastLine }) => `- ${name}, ${how}: \`${cell(lastLine)}\``);
  return [
    `Seed ${about.seed}, ${(seconds / 60).toFixed(1)} minutes, ${load.published} records (${load.redelivered} of them redeliveries on purpose), ${about.versions.join(', ')}, ${os.cpus().length} cores.`,
    '',
    `| documents | lost | doubled | half done | edited orders, all parked | dead letters |`,
    `| ---: | ---: | ---: | ---: | ---: | ---: |`,
    `| ${verdict.documents} | ${verdict.lost} | ${verdict.doubled} | ${verdict.halfDone} | ${verdict.conflicts} | ${verdict.deadLetters} |`,
    '',
    verdict.findings.length === 0
      ? 'Offsets are at the end of every topic, nothing runs but what is parked, every stock is what the model says, and `inventory audit` finds nothing, with and without `--topic`.'
      : ['**Findings**', '', ...verdict.findings.map((text) => `- ${text}`)].join('\n'),
    '',
    '| fault | what is done | injected | hit | recovery s | what showed that it hit |',
    '| --- | --- | ---: | ---: | ---: | --- |',
    ...rows,
    ...(died.length > 0
      ? ['', 'Processes that ended by themselves and were started again:', '', ...died]
      : []),
  ].join('\n');
}

function recovery(list: Bite[]): string {
  const seconds = list.flatMap(({ recoverySeconds }) => recoverySeconds ?? []);
  return seconds.length === 0 ? '' : Math.max(...seconds).toFixed(1);
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll('\n', ' ');
}
