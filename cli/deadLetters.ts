import type { Command } from 'commander';
import { readStates, type LetterState } from '../activities/deadLetterStates';
import { groupOf, readLetters, type Letter } from '../bridge/deadLetterRead';
import { createDecoder } from '../bridge/topics';
import { topicSettings } from '../connections';
import {
  EXIT,
  print,
  printJson,
  printTable,
  quietKafka,
  settings,
  UsageError,
  visible,
  withDatabase,
} from './context';
import { registerDecisions } from './deadLetterDecide';
import { placeOf, stateName, whatNow } from './letters';
import { readable } from './readable';
import { number } from './trace';

const STATES = ['open', 'retried', 'discarded', 'all'] as const;

interface ListOptions {
  state: (typeof STATES)[number];
  topic?: string;
  matching?: string;
  limit: number;
  json?: boolean;
}

/** `inventory dead-letters list | show | retry | discard`: records that could not become a command. */
export function registerDeadLetters(program: Command): void {
  const verb = program
    .command('dead-letters')
    .description('records that could not become a command: list, show, retry, discard');
  verb
    .command('list', { isDefault: true })
    .description('list them, grouped by reason\nexit code 0: none, 1: some, 2: could not run')
    .option('--state <state>', `one of ${STATES.join(', ')}`, 'open')
    .option('--topic <name>', 'only those that came from this topic')
    .option('--matching <text>', 'only those whose reason holds this text')
    .option('--limit <n>', 'letters listed; more are counted', number, 100)
    .option('--json', 'print groups and letters as JSON')
    .action(list);
  verb
    .command('show')
    .description('one letter with its bytes, and what this program would make of it now')
    .argument('<id>', 'as listed, e.g. 0:42')
    .option('--json')
    .action(show);
  registerDecisions(verb);
}

async function list(options: ListOptions): Promise<void> {
  if (!STATES.includes(options.state)) throw new UsageError(`--state is one of ${STATES.join(', ')}`);
  const config = settings();
  const groups = new Map<string, { count: number; example: string; first: string }>();
  const shown: { letter: Letter; state: LetterState | undefined }[] = [];
  let total = 0;
  const notes = await withDatabase(config, (database) =>
    readLetters(quietKafka(config), config.KAFKA_TOPIC_DEAD_LETTERS, {}, async (letters) => {
      const states = await readStates(
        database,
        letters.map(({ key }) => key),
      );
      for (const letter of letters) {
        const state = states.get(letter.key);
        const name = stateName(state) === 'retrying' ? 'open' : stateName(state);
        if (options.state !== 'all' && options.state !== name) continue;
        if (options.topic !== undefined && letter.record.topic !== options.topic) continue;
        if (options.matching !== undefined && !letter.reason.includes(options.matching)) continue;
        total++;
        const group = groups.get(groupOf(letter));
        if (group) group.count++;
        else groups.set(groupOf(letter), { count: 1, example: letter.reason, first: letter.id });
        if (shown.length < options.limit) shown.push({ letter, state });
      }
    }),
  );
  if (total > 0) process.exitCode = EXIT.foundSomething;
  if (options.json) {
    const letters = shown.map(({ letter, state }) => ({
      ...summary(letter),
      state: stateName(state),
      decided: state,
    }));
    printJson({ total, groups: [...groups].map(([group, of]) => ({ group, ...of })), letters, notes });
    return;
  }
  notes.forEach((note) => print(visible(note)));
  if (total === 0)
    return print(options.state === 'all' ? 'no dead letters' : `no ${options.state} dead letters`);
  printTable(
    ['count', 'reason', 'first'],
    [...groups]
      .sort(([, a], [, b]) => b.count - a.count)
      .map(([group, { count, first }]) => [String(count), group, first]),
    [0],
  );
  print('');
  printTable(
    ['id', 'from', 'written', 'deaths', 'state', 'reason'],
    shown.map(({ letter, state }) => [
      letter.id,
      `${letter.record.topic}[${letter.record.partition}]@${letter.record.offset}`,
      letter.at,
      String(letter.deaths),
      stateName(state),
      letter.reason,
    ]),
    [3],
  );
  if (total > shown.length) print(`and ${total - shown.length} more: --limit`);
}

async function show(id: string, options: { json?: boolean }): Promise<void> {
  const config = settings();
  const decode = createDecoder(topicSettings(config));
  let found = false;
  await withDatabase(config, (database) =>
    readLetters(quietKafka(config), config.KAFKA_TOPIC_DEAD_LETTERS, placeOf(id), async ([letter]) => {
      if (!letter) return;
      found = true;
      const state = (await readStates(database, [letter.key])).get(letter.key);
      const now = whatNow(decode, letter);
      const { key, value, headers } = letter.record;
      if (options.json) {
        printJson({
          ...summary(letter),
          state: stateName(state),
          decided: state,
          now,
          keyBase64: key?.toString('base64') ?? null,
          valueBase64: value?.toString('base64') ?? null,
        });
        return;
      }
      const { topic, partition, offset } = letter.record;
      print(
        visible(
          `${letter.id} from ${topic}[${partition}]@${offset}, written ${letter.at}: ${stateName(state)}`,
        ),
      );
      if (state)
        print(visible(`  ${state.state} by ${state.actor} at ${state.at.toISOString()}: ${state.reason}`));
      if (state?.sentAs)
        print(visible(`  sent as ${state.sentAs.topic}[${state.sentAs.partition}]@${state.sentAs.offset}`));
      print(visible(`  reason  ${letter.reason}${letter.deaths > 1 ? `, death ${letter.deaths}` : ''}`));
      print(visible(`  now     ${now}`));
      print(`  key     ${readable(key)}`);
      for (const [name, read] of Object.entries(headers ?? {})) {
        for (const one of Array.isArray(read) ? read : [read]) {
          print(`  header  ${visible(name)}: ${readable(one === undefined ? null : Buffer.from(one))}`);
        }
      }
      print(`  value   ${readable(value)}`);
    }),
  );
  if (!found) throw new UsageError(`there is no dead letter ${visible(id)}`);
}

function summary({ record, key: _, ...letter }: Letter) {
  const { topic, partition, offset, timestamp } = record;
  return { ...letter, from: { topic, partition, offset, timestamp } };
}
