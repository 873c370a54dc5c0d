/** The plot: events per second of every contender on a logarithmic scale, a bar from zero to the least, a light one to the most. */
import { CONTENDERS, type ContenderName } from './contenders';
import { spanOf, type Results } from './results';
import { backlogs, show } from './tables';
import { WORKLOADS, type WorkloadName } from './workloads';

const SHOWN: { workload: WorkloadName; colour: string }[] = [
  { workload: 'one', colour: '#2563a8' },
  { workload: 'hot', colour: '#c2571a' },
];
const LEFT = 330;
const WIDTH = 900;
const BAR = 13;
const ROW = 44;
const TOP = 56;

export function plot(results: Results): string {
  const names = (Object.keys(CONTENDERS) as ContenderName[]).filter(
    (name) => backlogs(results, name).length > 0,
  );
  const all = backlogs(results).map((sample) => sample.perSecond);
  const decades = Math.max(1, Math.ceil(Math.log10(Math.max(...all, 10))));
  const x = (rate: number) =>
    LEFT + (Math.max(0, Math.log10(Math.max(rate, 1))) / decades) * (WIDTH - LEFT - 110);
  const height = TOP + names.length * ROW + 34;
  const grid = Array.from({ length: decades + 1 }, (_, power) => {
    const at = x(10 ** power).toFixed(1);
    return (
      `<line x1="${at}" y1="${TOP - 8}" x2="${at}" y2="${height - 28}" stroke="#ddd"/>` +
      `<text x="${at}" y="${height - 12}" text-anchor="middle" fill="#555">${(10 ** power).toLocaleString('en')}</text>`
    );
  });
  const rows = names.flatMap((name, row) => [
    `<text x="${LEFT - 10}" y="${TOP + row * ROW + 19}" text-anchor="end">${CONTENDERS[name]}</text>`,
    ...SHOWN.flatMap(({ workload, colour }, index) => {
      const span = spanOf(backlogs(results, name, workload).map((sample) => sample.perSecond));
      if (!span) return [];
      const y = TOP + row * ROW + index * (BAR + 2);
      const bar = (to: number, opacity: number) =>
        `<rect x="${LEFT}" y="${y}" width="${(x(to) - LEFT).toFixed(1)}" height="${BAR}" fill="${colour}" opacity="${opacity}"/>`;
      const label = `<text x="${(x(span.most) + 6).toFixed(1)}" y="${y + 11}" fill="#333" font-size="11">${show(span)}</text>`;
      return [bar(span.most, 0.45), bar(span.least, 1), label];
    }),
  ]);
  const legend = SHOWN.map(
    ({ workload, colour }, index) =>
      `<rect x="${LEFT + index * 190}" y="30" width="12" height="12" fill="${colour}"/>` +
      `<text x="${LEFT + 18 + index * 190}" y="40">${WORKLOADS[workload]}</text>`,
  );
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" font-family="sans-serif" font-size="13">`,
    `<rect width="${WIDTH}" height="${height}" fill="#fff"/>`,
    `<text x="${LEFT}" y="18" font-weight="bold">Events per second, backlog, logarithmic; light: up to the most of all runs</text>`,
    ...[...legend, ...grid, ...rows],
    '</svg>',
    '',
  ].join('\n');
}
