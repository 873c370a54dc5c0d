import type { Collection } from './models';

const DUPLICATE_KEY = 11_000;

/**
 * Inserts the documents whose `_id` does not exist and leaves existing ones untouched.
 * @returns the `_id`s that were created
 */
export async function ensureAll<T extends { _id: string }>(
  collection: Collection<T>,
  documents: T[],
): Promise<string[]> {
  if (documents.length === 0) return [];
  const upserts = documents.map((document) => ({
    updateOne: { filter: { _id: document._id }, update: { $setOnInsert: document }, upsert: true },
  })) as unknown as Parameters<typeof collection.bulkWrite>[0];
  const run = async () => {
    const { upsertedIds } = await collection.bulkWrite(upserts, {
      ordered: false,
      writeConcern: { w: 'majority', journal: true },
    });
    return Object.values(upsertedIds) as string[];
  };
  try {
    return await run();
  } catch (error) {
    // Two upserts of one new key at once: one of them loses with a duplicate key, and then the document is there.
    if ((error as { code?: unknown }).code !== DUPLICATE_KEY) throw error;
    return run();
  }
}
