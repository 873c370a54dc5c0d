/**
 * A harness that cannot fail proves nothing: each protection of the product is turned off in turn, from outside, and
 * the verdict has to say so.
 */
import { join } from 'node:path';
import { campaign } from './campaign';
import { DEFAULT_SIZES, faultsOf } from './faults';
import { Lab } from './lab';

interface Mutation {
  /** Name of the module in mutations/. */
  name: string;
  off: string;
  /** What makes the missing protection matter. */
  faults: string[];
}

const MUTATIONS: Mutation[] = [
  {
    name: 'noTransaction',
    off: 'the transaction: entries and stocks are written one after the other',
    faults: ['crash-in-transaction'],
  },
  {
    name: 'noUniqueKey',
    off: 'the unique key: the ledger is not asked, and entries have random keys',
    faults: ['crash-after-commit', 'lose-commit-answers'],
  },
  {
    name: 'offsetFirst',
    off: 'offset after start: the offset passes, and the workflow is started a moment later',
    faults: ['kill-bridge'],
  },
  {
    name: 'noConflictCheck',
    off: 'the conflict check: another version of a document is applied like a new one',
    faults: ['doubled-producer'],
  },
];

/** @returns exit code: 0 when all of them are noticed */
export async function mutate(dir: string, seed: number, say: (line: string) => void): Promise<number> {
  const rows: string[] = [];
  let missed = 0;
  for (const { name, off, faults } of MUTATIONS) {
    say(`without ${off}`);
    const lab = await Lab.open({
      dir: join(dir, name),
      seed,
      say,
      preloads: [join(__dirname, 'mutations', `${name}.js`)],
    });
    try {
      const chosen = faultsOf(DEFAULT_SIZES).filter((fault) => faults.includes(fault.name));
      const limits = { quietMs: 60_000, recoveryMs: 60_000 };
      const { verdict } = await campaign(lab, chosen, 0, limits);
      const { lost, doubled, halfDone, findings } = verdict;
      // What it cannot settle says less than what it did.
      const finding = findings.find((text) => !text.startsWith('not quiet')) ?? findings[0];
      if (finding === undefined) missed++;
      rows.push(
        `| ${off} | ${faults.map((fault) => `\`${fault}\``).join(', ')} | ${lost} | ${doubled} | ${halfDone} | ${finding === undefined ? '**not noticed**' : `noticed: ${finding.replaceAll('|', '\\|')}`} |`,
      );
      say(rows.at(-1)!);
    } finally {
      await lab.close();
    }
  }
  console.log(
    [
      `Seed ${seed}.`,
      '',
      '| turned off | under | lost | doubled | half done | verdict |',
      '| --- | --- | ---: | ---: | ---: | --- |',
      ...rows,
    ].join('\n'),
  );
  return missed === 0 ? 0 : 1;
}
