import { randomBytes } from 'node:crypto';
import Big from 'big.js';
import type { Command } from 'commander';
import { readOnHand } from '../activities/decimals';
import { entriesOf } from '../activities/ledger';
import type { Database } from '../activities/models';
import { ADJUSTMENT_SOURCE, MAX_ID_BYTES, type MoveStock } from '../commands';
import { MAX_REASON_CHARACTERS, signatureFault } from '../decisions';
import type { Temporal } from '../temporal';
import { EXIT, print, printJson, settings, UsageError, visible, withDatabase, withTemporal } from './context';
import { readPlan } from './plan';
import { postAdjustment, type Posted } from './postAdjustment';

interface Options {
  by?: string;
  count?: string;
  id?: string;
  plan?: string;
  actor: string;
  reason?: string;
  json?: boolean;
}

/** One line of the answer. */
interface Line extends Posted {
  id: string;
  stockId: string;
  delta: string;
}

/** A stock that moves all the time is counted anew this often. */
const TRIES = 10;

/** `inventory adjust`: a person's count, or an audit's repairs, as entries of the ledger. */
export function registerAdjust(program: Command): void {
  program
    .command('adjust')
    .description(
      "change a stock by a person's word, or post the repairs of an audit; a worker has to run\n" +
        'exit code 0: in the ledger, 1: not (all) applied, 2: could not run',
    )
    .argument('[stock]', 'the stock to change')
    .option('--by <quantity>', 'add this quantity; negative takes away')
    .option('--count <quantity>', 'so much was counted: the stock is set to it')
    .option('--plan <file>', 'post what `inventory audit --plan` has written')
    .option('--id <id>', 'ID of the adjustment: the same one again is a duplicate, not a second change')
    .requiredOption('--actor <who>', 'who says so; kept in the ledger')
    .option('--reason <why>', 'why; kept in the ledger')
    .option('--json', 'print the result as JSON')
    .action(run);
}

async function run(stockId: string | undefined, options: Options): Promise<void> {
  const given = [options.by, options.count, options.plan].filter((value) => value !== undefined);
  if (given.length !== 1) throw new UsageError('give one of --by, --count and --plan');
  if ((options.plan === undefined) !== (stockId !== undefined))
    throw new UsageError('--by and --count need a stock, --plan none');
  if (options.plan !== undefined && options.id !== undefined)
    throw new UsageError('a plan brings its own IDs');
  const reason = options.reason ?? (options.plan === undefined ? '' : 'repair found by audit');
  const fault = signatureFault({ actor: options.actor, reason });
  if (fault !== undefined) throw new UsageError(`--${fault}`);
  const change = options.plan === undefined ? readChange(options) : undefined;
  const config = settings();
  const lines = await withDatabase(config, (database) =>
    withTemporal(config, (temporal) =>
      change
        ? one({ database, temporal, taskQueue: config.TEMPORAL_TASK_QUEUE }, stockId!, change, {
            ...options,
            reason,
          })
        : plan({ temporal, taskQueue: config.TEMPORAL_TASK_QUEUE }, options.plan!, { ...options, reason }),
    ),
  );
  const open = lines.filter(({ outcome }) => outcome !== 'APPLIED' && outcome !== 'DUPLICATE');
  if (open.length > 0) process.exitCode = EXIT.foundSomething;
  if (options.json) printJson(options.plan === undefined ? lines[0] : lines);
  else {
    lines.forEach(({ id, stockId: stock, delta, outcome, says }) =>
      print(
        visible(
          `${outcome}: ADJUSTMENT ${id}, stock ${stock} ${delta.startsWith('-') ? '' : '+'}${delta}, ${says}`,
        ),
      ),
    );
    if (options.plan !== undefined)
      print(`${lines.length - open.length} of ${lines.length} repairs are in the ledger`);
  }
}

interface At {
  temporal: Temporal;
  taskQueue: string;
}

/** By how much, or to what. */
type Change = { by: Big } | { counted: Big };

function readChange({ by, count }: Options): Change {
  if (count !== undefined) return { counted: decimal('--count', count) };
  const quantity = decimal('--by', by!);
  if (quantity.eq(0)) throw new UsageError('--by 0 changes nothing');
  return { by: quantity };
}

type Signed = Options & { reason: string };

/** The same ID with the same quantity is a duplicate however often it is asked. */
async function one(
  at: At & { database: Database },
  stockId: string,
  change: Change,
  options: Signed,
): Promise<Line[]> {
  const id = options.id ?? `${new Date().toISOString().slice(0, 10)}-${randomBytes(4).toString('hex')}`;
  if (Buffer.byteLength(id) > MAX_ID_BYTES) throw new UsageError(`--id has more than ${MAX_ID_BYTES} bytes`);
  // Said before anything happens: whoever does not see the end can ask again without changing stock twice.
  process.stderr.write(`adjustment ${visible(id)}\n`);
  const { actor, reason } = options;
  if ('by' in change) {
    await refuseUnknown(at.database, stockId);
    const command = adjustment(id, stockId, change.by.toFixed(), { actor, reason });
    return [line(command, await postAdjustment(at, command))];
  }
  const { counted } = change;
  for (let tries = 1; ; tries++) {
    const before = await earlier(at.database, id, stockId, counted);
    if (before) return [before];
    const onHand = await refuseUnknown(at.database, stockId);
    const delta = counted.minus(onHand);
    const basis = { counted: counted.toFixed(), expectOnHand: onHand.toFixed() };
    const command = adjustment(id, stockId, delta.toFixed(), { actor, reason, ...basis });
    // Right already: that somebody counted is worth an entry too.
    const posted = await postAdjustment(at, command);
    // Somebody sold in between: the count stands, its difference is another one.
    if (posted.outcome !== 'MOVED' || tries === TRIES) return [line(command, posted)];
  }
}

async function plan(at: At, file: string, { actor, reason }: Signed): Promise<Line[]> {
  const lines: Line[] = [];
  for (const item of readPlan(file)) {
    const why = `${reason}: ${item.reason}`.slice(0, MAX_REASON_CHARACTERS);
    const { repairs } = item;
    const command = adjustment(item.id, item.stockId, item.delta, { actor, reason: why, repairs });
    lines.push(line(command, await postAdjustment(at, command)));
  }
  return lines;
}

function adjustment(
  referenceId: string,
  inventoryStockId: string,
  delta: string,
  how: NonNullable<MoveStock['adjustment']>,
): MoveStock {
  return {
    schema: 1,
    referenceType: 'ADJUSTMENT',
    referenceId,
    legs: [{ inventoryStockId, delta }],
    occurredAt: new Date().toISOString(),
    source: ADJUSTMENT_SOURCE,
    adjustment: how,
  };
}

function line({ referenceId, legs }: MoveStock, posted: Posted): Line {
  const { inventoryStockId: stockId, delta } = legs[0]!;
  return { id: referenceId, stockId, delta, ...posted };
}

/** A count asks for a balance, not for a difference: whether it was made is seen from the count in its entry. */
async function earlier(
  database: Database,
  id: string,
  stockId: string,
  counted: Big,
): Promise<Line | undefined> {
  const reference = { referenceType: 'ADJUSTMENT', referenceId: id } as const;
  const entries = await entriesOf(database, [reference], { readConcern: { level: 'majority' } });
  const entry = entries.find((e) => e.referenceType === 'ADJUSTMENT' && e.outcome === 'APPLIED');
  if (!entry) return undefined;
  const same = entry.inventoryStockId === stockId && entry.counted && readOnHand(entry.counted).eq(counted);
  return {
    id,
    stockId: entry.inventoryStockId,
    delta: readOnHand(entry.delta).toFixed(),
    workflowId: entry.workflowId,
    outcome: same ? 'DUPLICATE' : 'CONFLICT',
    says: same
      ? `in the ledger since ${entry.recordedAt.toISOString()}`
      : `this ID stands in the ledger for something else since ${entry.recordedAt.toISOString()}: use another --id`,
  };
}

async function refuseUnknown(database: Database, stockId: string): Promise<Big> {
  const stock = await database.stocks.findOne(
    { _id: stockId },
    { promoteLongs: false, readConcern: { level: 'majority' } },
  );
  // A moveStock would wait for the catalogue to bring it; a person has mistyped.
  if (!stock) throw new UsageError(`there is no stock ${visible(stockId)}`);
  return readOnHand(stock.onHand);
}

function decimal(option: string, text: string): Big {
  if (!/^[+-]?\d{1,24}(\.\d{1,10})?$/.test(text))
    throw new UsageError(`${option} must be a decimal such as 12, -2.5`);
  return new Big(text.replace(/^\+/, ''));
}
