import type { Collection } from './models';

/**
 * Inserts the document unless its `_id` exists, and leaves an existing one untouched.
 * @returns whether it was created
 */
export async function ensure<T extends { _id: string }>(
  collection: Collection<T>,
  _id: string,
  fields: Omit<T, '_id'>,
): Promise<boolean> {
  const upsert = () =>
    collection.updateOne(
      { _id } as Parameters<typeof collection.updateOne>[0],
      // An update without any field is refused by the server; the `_id` itself is always there.
      { $setOnInsert: { _id, ...fields } } as unknown as Parameters<typeof collection.updateOne>[1],
      { upsert: true, writeConcern: { w: 'majority', journal: true } },
    );
  try {
    return (await upsert()).upsertedCount === 1;
  } catch (error) {
    // Two upserts of one new key at once: one of them loses with a duplicate key, and then the document is there.
    if ((error as { code?: unknown }).code !== 11_000) throw error;
    return (await upsert()).upsertedCount === 1;
  }
}
