/** What the ledger needs of a database, made by `inventory setup` and checked before a worker takes work. */
import type mongoose from 'mongoose';
import type { Model } from 'mongoose';
import type { Database } from './models';

/** A requirement that does not hold; the message ends with the remedy. */
export class DatabaseCheckError extends Error {
  override readonly name = 'DatabaseCheckError';
}

/** Creates collections and builds indexes; safe to repeat, and while workers run. */
export async function setupDatabase(database: Database): Promise<void> {
  await checkReplicaSet(database);
  const existing = await collectionNames(database);
  for (const model of models(database)) {
    // Transactions may write only to collections that exist.
    if (!existing.has(model.collection.collectionName)) await model.createCollection();
    await model.createIndexes();
  }
}

/**
 * @returns what was found, one line
 * @throws DatabaseCheckError
 */
export async function checkDatabase(database: Database): Promise<string> {
  const setName = await checkReplicaSet(database);
  const existing = await collectionNames(database);
  for (const model of models(database)) {
    const name = model.collection.collectionName;
    if (!existing.has(name))
      throw new DatabaseCheckError(`collection ${name} is missing: run \`inventory setup\``);
    // `unique` in a schema is only a wish: what counts is what the server has built.
    const built = (await model.collection.listIndexes().toArray()) as mongoose.mongo.IndexDescriptionInfo[];
    for (const [keys, wanted] of model.schema.indexes()) {
      const index = built.find((candidate) => candidate.name === wanted['name']);
      const label = `index ${String(wanted['name'])} of ${name}`;
      if (!index) throw new DatabaseCheckError(`${label} is missing: run \`inventory setup\``);
      const same =
        JSON.stringify(index.key) === JSON.stringify(keys) &&
        Boolean(index.unique) === Boolean(wanted['unique']) &&
        JSON.stringify(index.partialFilterExpression) === JSON.stringify(wanted['partialFilterExpression']);
      if (!same)
        throw new DatabaseCheckError(`${label} is built otherwise: drop it, then run \`inventory setup\``);
    }
  }
  return `MongoDB replica set ${setName}, database ${database.connection.name}, indexes built`;
}

/** @throws Error when no server takes writes */
export async function checkPrimary(database: Database): Promise<void> {
  const hello = await database.connection.db!.command({ hello: 1 });
  if (!(hello as { isWritablePrimary?: boolean }).isWritablePrimary) throw new Error('it has no primary');
}

async function checkReplicaSet(database: Database): Promise<string> {
  const hello = await database.connection.db!.command({ hello: 1 });
  const { setName, msg } = hello as { setName?: string; msg?: string };
  if (setName === undefined && msg !== 'isdbgrid') {
    throw new DatabaseCheckError(
      'MongoDB is a standalone server, which has no transactions: start it with --replSet and run rs.initiate()',
    );
  }
  return setName ?? '(sharded cluster)';
}

async function collectionNames(database: Database): Promise<Set<string>> {
  const collections = await database.connection.db!.listCollections({}, { nameOnly: true }).toArray();
  return new Set(collections.map((collection) => collection.name));
}

function models(database: Database): Model<unknown>[] {
  return Object.values(database.connection.models) as Model<unknown>[];
}
