/** What people decided about dead letters. The letters themselves stay in their topic, which keeps them for ever. */
import type { Database } from './models';

export interface LetterState {
  /** See `letterKey`. */
  _id: string;
  /** `RETRYING`: about to be sent, or sent by somebody who did not live to note it: it may be sent again. */
  state: 'RETRYING' | 'RETRIED' | 'DISCARDED';
  actor: string;
  reason: string;
  at: Date;
  /** RETRIED: where the record stands now. */
  sentAs?: { topic: string; partition: number; offset: string };
  edited?: boolean;
}

const COLLECTION = 'inventory_dead_letter';
const durable = { writeConcern: { w: 'majority', journal: true } } as const;

/** @returns the states of those that have one */
export async function readStates(database: Database, keys: string[]): Promise<Map<string, LetterState>> {
  const states = await statesOf(database)
    .find({ _id: { $in: keys } }, { readConcern: { level: 'majority' } })
    .toArray();
  return new Map(states.map((state) => [state._id, state]));
}

/**
 * Takes a letter for a decision.
 * @returns false when it was retried or discarded before
 */
export async function claim(database: Database, wanted: LetterState): Promise<boolean> {
  const { _id, ...fields } = wanted;
  try {
    await statesOf(database).updateOne(
      { _id, state: { $nin: ['RETRIED', 'DISCARDED'] } },
      { $set: fields },
      { upsert: true, ...durable },
    );
    return true;
  } catch (error) {
    // The filter left it out, and its ID is taken: it is settled.
    if ((error as { code?: unknown }).code === 11_000) return false;
    throw error;
  }
}

/** Notes that a letter was sent. */
export async function noteSent(
  database: Database,
  _id: string,
  sentAs: NonNullable<LetterState['sentAs']>,
): Promise<void> {
  await statesOf(database).updateOne({ _id }, { $set: { state: 'RETRIED', sentAs } }, durable);
}

function statesOf(database: Database) {
  return database.connection.collection<LetterState>(COLLECTION);
}
