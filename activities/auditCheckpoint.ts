/**
 * What an audit found whole, kept in a file for the next one: a line `["STK-1",42,"7.5"]` per stock (last sequence,
 * balance), in the order in which the audit reads stocks, so that neither reading nor writing holds it in memory.
 */
import { createReadStream, createWriteStream, existsSync, renameSync, type WriteStream } from 'node:fs';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import Big from 'big.js';
import { compareIds } from './auditSnapshot';
import type { ChainStart } from './auditChain';

const HEAD = '{"inventory-audit":1}';

export interface Checkpoint {
  /** No audit has left anything here yet. */
  isFirst: boolean;
  /** Reads on to the stock; stocks must be asked for in order. */
  advanceTo(stockId: string): Promise<void>;
  /** Where the stock of the last {@link advanceTo} was whole. */
  startOf(stockId: string): ChainStart | undefined;
  note(stockId: string, whole: ChainStart): void;
  /** Replaces the old file; until then it stays as it was. */
  finish(): Promise<void>;
}

/** @throws Error when the file is something else */
export async function openCheckpoint(file: string): Promise<Checkpoint> {
  const isFirst = !existsSync(file);
  const lines = isFirst ? undefined : readLines(file);
  if (lines && (await lines.next()).value !== HEAD) {
    throw new Error(`${file} is no checkpoint of an audit; name another file`);
  }
  const temporary = `${file}.new`;
  let out: WriteStream | undefined;
  const write = (line: string) => (out ??= createWriteStream(temporary)).write(`${line}\n`);
  write(HEAD);
  let current: { id: string; start: ChainStart } | undefined;
  let over = isFirst;

  return {
    isFirst,
    advanceTo: async (stockId) => {
      while (!over && (current === undefined || compareIds(current.id, stockId) < 0)) {
        const line = await lines!.next();
        if (line.done) over = true;
        else current = readLine(line.value, file);
      }
      // What is written goes out in between, however many stocks there are.
      if (out?.writableNeedDrain) await once(out, 'drain');
    },
    startOf: (stockId) => (current?.id === stockId ? current.start : undefined),
    note: (stockId, { sequence, balance }) =>
      void write(JSON.stringify([stockId, sequence, balance.toFixed()])),
    finish: async () => {
      out!.end();
      await once(out!, 'finish');
      renameSync(temporary, file);
    },
  };
}

function readLines(file: string): AsyncIterator<string> {
  return createInterface({ input: createReadStream(file), crlfDelay: Infinity })[Symbol.asyncIterator]();
}

function readLine(line: string, file: string): { id: string; start: ChainStart } {
  try {
    const [id, sequence, balance] = JSON.parse(line) as [string, number, string];
    return { id, start: { sequence, balance: new Big(balance) } };
  } catch (error) {
    throw new Error(`${file}: ${JSON.stringify(line.slice(0, 80))} is no line of a checkpoint`, {
      cause: error,
    });
  }
}
