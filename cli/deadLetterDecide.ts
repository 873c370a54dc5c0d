import type { Command } from 'commander';
import { claim, noteSent, readStates, type LetterState } from '../activities/deadLetterStates';
import type { Database } from '../activities/models';
import { readLetters, type Letter } from '../bridge/deadLetterRead';
import { openSender, type Sender } from '../bridge/deadLetterSend';
import { createDecoder } from '../bridge/topics';
import { topicSettings } from '../connections';
import { signatureFault } from '../decisions';
import { readFile } from '../files';
import { EXIT, print, printJson, quietKafka, settings, UsageError, visible, withDatabase } from './context';
import { placeOf, whatNow } from './letters';

interface Options {
  all?: boolean;
  topic?: string;
  matching?: string;
  actor: string;
  reason: string;
  edit?: string;
  force?: boolean;
  json?: boolean;
}

/** What became of one letter. */
interface Line {
  id: string;
  became: 'retried' | 'discarded' | 'settled-before' | 'still-at-fault' | 'failed';
  says: string;
}

/** `inventory dead-letters retry | discard` */
export function registerDecisions(verb: Command): void {
  decision(verb, 'retry', 'send the original bytes to where they came from, after a fix')
    .option(
      '--edit <file>',
      'one letter: send this as its value instead, as a new message that names the original',
    )
    .option('--force', 'send even what this program would refuse again')
    .action((ids: string[], options: Options) => decide('retry', ids, options));
  decision(verb, 'discard', 'settle letters that are not to be retried').action(
    (ids: string[], options: Options) => decide('discard', ids, options),
  );
}

function decision(verb: Command, name: string, description: string): Command {
  return verb
    .command(name)
    .description(`${description}\nexit code 0: done, 1: not for all of them, 2: could not run`)
    .argument('[ids...]', 'as listed, e.g. 0:42')
    .option('--all', 'every open letter that the filters leave')
    .option('--topic <name>', 'with --all: only those that came from this topic')
    .option('--matching <text>', 'with --all: only those whose reason holds this text')
    .requiredOption('--actor <who>', 'who decides; kept with the letter')
    .requiredOption('--reason <why>', 'why; kept with the letter')
    .option('--json', 'print what became of each as JSON');
}

async function decide(what: 'retry' | 'discard', ids: string[], options: Options): Promise<void> {
  const fault = signatureFault(options);
  if (fault !== undefined) throw new UsageError(`--${fault}`);
  if (ids.length > 0 === Boolean(options.all)) throw new UsageError('name letters, or say --all');
  if (options.edit !== undefined && ids.length !== 1) throw new UsageError('--edit is for one letter');
  const places = options.all ? [{}] : ids.map(placeOf);
  const config = settings();
  const edit = options.edit === undefined ? undefined : readEdit(options.edit, config.EVENT_MAX_BYTES);
  const kafka = quietKafka(config);
  const decode = createDecoder(topicSettings(config));
  const lines: Line[] = [];
  await withDatabase(config, async (database) => {
    const sender = what === 'retry' ? await openSender(kafka) : undefined;
    try {
      for (const place of places) {
        await readLetters(kafka, config.KAFKA_TOPIC_DEAD_LETTERS, place, async (letters) => {
          const states = await readStates(
            database,
            letters.map(({ key }) => key),
          );
          for (const letter of letters) {
            if (options.all && !isMeant(letter, states.get(letter.key), options)) continue;
            const sent = edit ? { ...letter, record: { ...letter.record, value: edit } } : letter;
            const now = whatNow(decode, sent);
            const refused = sender && now.startsWith('still at fault') && !options.force;
            const line: Line = refused
              ? { id: letter.id, became: 'still-at-fault', says: `${now}; --force sends it all the same` }
              : await settle(database, letter, options, sender, edit);
            lines.push(line);
            if (!options.json) print(visible(`${line.id} ${line.became}: ${line.says}`));
          }
        });
      }
    } finally {
      await sender?.close();
    }
  });
  if (!options.all && lines.length < ids.length) throw new UsageError('not all of these letters exist');
  if (lines.some(({ became }) => became !== 'retried' && became !== 'discarded'))
    process.exitCode = EXIT.foundSomething;
  if (options.json) printJson(lines);
  else if (lines.length === 0) print('nothing to do');
}

/** @throws UsageError when the file cannot be sent */
function readEdit(file: string, maxBytes: number): Buffer {
  try {
    return readFile(file, maxBytes);
  } catch (error) {
    throw new UsageError(`--edit ${file}: ${(error as Error).message}`);
  }
}

function isMeant(letter: Letter, state: LetterState | undefined, { topic, matching }: Options): boolean {
  if (state && state.state !== 'RETRYING') return false;
  if (topic !== undefined && letter.record.topic !== topic) return false;
  return matching === undefined || letter.reason.includes(matching);
}

/** First the word that it will be sent, then the sending, then where it went: a crash in between only repeats it. */
async function settle(
  database: Database,
  letter: Letter,
  { actor, reason }: Options,
  sender: Sender | undefined,
  edit: Buffer | undefined,
): Promise<Line> {
  const { id, key } = letter;
  const state = sender ? 'RETRYING' : 'DISCARDED';
  const taken = await claim(database, {
    _id: key,
    state,
    actor,
    reason,
    at: new Date(),
    ...(edit ? { edited: true } : {}),
  });
  if (!taken) return { id, became: 'settled-before', says: 'it was retried or discarded before' };
  if (!sender) return { id, became: 'discarded', says: reason };
  try {
    const sent = await sender.send(letter, edit ? { value: edit, actor } : undefined);
    await noteSent(database, key, sent);
    return {
      id,
      became: 'retried',
      says: `${edit ? 'edited, ' : ''}now ${sent.topic}[${sent.partition}]@${sent.offset}`,
    };
  } catch (error) {
    return { id, became: 'failed', says: `${(error as Error).message}; it stays open` };
  }
}
