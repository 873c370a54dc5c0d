/** What a second effect is made impossible by: unique keys, as docs/operate.md lists them. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TrackingEntry } from '../activities/models';
import { createPost } from '../activities/post';
import { order, posting } from './commandsFor';
import { databaseUrl, freshDatabase, type TestDatabase } from './database';

let one: TestDatabase;
let two: TestDatabase;
beforeAll(async () => {
  const url = databaseUrl();
  one = await freshDatabase(url);
  two = await freshDatabase(url);
});
afterAll(async () => {
  await two.connection.close();
  await one.drop();
});

test('one key inserted over two connections at once: exactly one of them wins, every time', async () => {
  await one.stock('A', '1000');
  await createPost(one, { belowZeroRefuse: new Set() })([posting(order('made', { A: '-1' }))]);
  const made = (await one.tracking.findOne({ _id: 'SALE_ORDER/made/A' })) as TrackingEntry;
  for (let n = 0; n < 100; n++) {
    // Nothing else that is unique stands in the way: only the key is the same.
    const entry = (which: number) =>
      ({
        ...made,
        _id: `SALE_ORDER/${n}/A`,
        referenceId: `${n}-${which}`,
        sequence: 10 + 2 * n + which,
      }) as TrackingEntry;
    const results = await Promise.allSettled([
      one.tracking.insertOne(entry(0)),
      two.tracking.insertOne(entry(1)),
    ]);
    const lost = results.flatMap((result) => (result.status === 'rejected' ? [result.reason as object] : []));
    expect(lost).toMatchObject([{ code: 11_000, keyPattern: { _id: 1 } }]);
  }
  expect(await one.tracking.countDocuments({ _id: /^SALE_ORDER\/\d+\/A$/ })).toBe(100);
});

test('the indexes are of the kinds that the documentation lists', async () => {
  const lines: string[] = [];
  for (const collection of [one.tracking, one.archive, one.stocks, one.openings]) {
    const indexes = await collection.listIndexes().toArray();
    for (const { name, key, unique, partialFilterExpression } of indexes) {
      const partial = partialFilterExpression ? `, where ${JSON.stringify(partialFilterExpression)}` : '';
      const isUnique = unique === true || name === '_id_';
      lines.push(
        `${collection.collectionName} ${JSON.stringify(key)} ${isUnique ? 'unique' : 'not unique'}${partial}`,
      );
    }
  }
  const documented = readFileSync(join(__dirname, '..', 'docs', 'operate.md'), 'utf8');
  const [, block] = /### Indexes\n[\s\S]*?```text\n([\s\S]*?)```/.exec(documented)!;
  expect(block!.trim().split('\n')).toEqual(lines);
});
