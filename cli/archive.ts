import type { Command } from 'commander';
import { archive, type ArchiveCounts } from '../activities/archive';
import { checkDatabase } from '../activities/setup';
import { EXIT, print, printJson, settings, UsageError, withDatabase } from './context';
import { count, Progress } from './progress';
import { number, time } from './trace';

interface Options {
  before: number;
  rate?: number;
  json?: boolean;
}

/** Clocks differ a little, and what is younger is looked up most: it gains nothing from being moved. */
const YOUNGEST_MS = 60 * 60_000;

/** `inventory archive --before T`: old documents move out of the ledger; what they protect from stays known. */
export function registerArchive(program: Command): void {
  program
    .command('archive')
    .description(
      'move documents whose entries are older than a time to the compact archive, while events flow;\n' +
        'every worker must know the archive: none of an older version may run\n' +
        'exit code 0: done, 2: could not run, or stopped; the same command goes on',
    )
    .requiredOption(
      '--before <time>',
      'recorded before this time (ISO 8601 with a zone, or epoch ms), at least an hour ago',
      time,
    )
    .option('--rate <n>', 'move at most so many entries a second; as fast as it goes if left out', number)
    .option('--json', 'print the counts as JSON')
    .action(run);
}

async function run({ before, rate, json }: Options): Promise<void> {
  if (rate !== undefined && rate < 1) throw new UsageError('--rate must be 1 or more');
  if (before > Date.now() - YOUNGEST_MS)
    throw new UsageError(`--before ${new Date(before).toISOString()} must be at least an hour ago`);
  const stop = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => (stop.signal.aborted ? process.exit(EXIT.couldNotRun) : stop.abort()));
  }
  const progress = new Progress('archive');
  // One aggregation over the whole archive is among the questions: it takes as long as it takes.
  const { counts, archived } = await withDatabase(
    settings(),
    async (database) => {
      await checkDatabase(database);
      const entries = await database.tracking.estimatedDocumentCount();
      const counted = await archive(database, {
        before: new Date(before),
        rate,
        signal: stop.signal,
        onProgress: (so) => progress.show(so.read, entries, `${count(so.entries)} moved`),
      });
      return { counts: counted, archived: await database.archive.estimatedDocumentCount() };
    },
    0,
  ).finally(() => progress.clear());
  if (json) printJson({ ...counts, before: new Date(before).toISOString(), archived });
  else printCounts(counts, archived);
  if (!counts.complete) process.exitCode = EXIT.couldNotRun;
}

function printCounts(
  { documents, entries, kept, openings, complete }: ArchiveCounts,
  archived: number,
): void {
  print(
    `${count(documents)} documents, ${count(entries)} entries moved; the archive holds ${count(archived)}`,
  );
  print(`openings moved on: ${count(openings)} stocks`);
  print(
    `kept: ${count(kept.younger)} younger, ${count(kept.undecided)} that wait for a person, ` +
      `${count(kept.odd)} odd ones${kept.odd > 0 ? ' (see inventory audit)' : ''}`,
  );
  if (!complete) print('stopped; the same command goes on');
}
