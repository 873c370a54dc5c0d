/** What an operator asks about an archived span is answered by the real program as before it was archived. */
import { createPost } from '../activities/post';
import { createDecoder } from '../bridge/topics';
import { topicSettings } from '../connections';
import { posting } from './commandsFor';
import { createSystem, type System } from './system';

jest.setTimeout(240_000);
let system: System;
beforeAll(async () => {
  system = await createSystem();
});
afterAll(() => system.close());

const paid = (n: number) => ({
  saleOrderId: `SO-${n}-${system.name}`,
  paidAt: '2020-01-01T12:00:00Z',
  lines: [{ stockId: 'A', quantity: '2' }],
});

async function json<T>(...args: string[]): Promise<T & { code: number | null }> {
  const { code, out, err } = await system.cli(...args, '--json');
  if (out === '') throw new Error(`exit code ${code}: ${err}`);
  return { ...(JSON.parse(out) as T), code };
}

test('trace, audit --topic, replay and adjust across the horizon', async () => {
  const { database, config } = system;
  await database.stock('A', '100');
  const events = Array.from({ length: 20 }, (_, n) => paid(n));
  await system.publish('PAYMENT_SUCCESS', events);
  // As the bridge would have it: what stands where in the topic.
  const topic = topicSettings(config).topics.PAYMENT_SUCCESS;
  const decode = createDecoder(topicSettings(config));
  const postings = events.map((event, n) => {
    const value = Buffer.from(JSON.stringify(event));
    const decoded = decode({
      topic,
      partition: 0,
      offset: String(n),
      key: null,
      value,
      headers: {},
      timestamp: '0',
    });
    if (decoded.became !== 'command' || decoded.command.type !== 'moveStock') throw new Error('no command');
    return posting(decoded.command.input);
  });
  await createPost(database, { belowZeroRefuse: new Set() })(postings);
  const reference = `SALE_ORDER/SO-7-${system.name}`;
  const before = await json<{ entries: object[]; stock?: object }>('trace', reference);
  expect(before.entries).toHaveLength(1);
  await database.tracking.updateMany({}, { $set: { recordedAt: new Date('2020-01-02T00:00:00Z') } });

  const archived = await json('archive', '--before', '2021-01-01T00:00:00Z');
  expect(archived).toMatchObject({ code: 0, documents: 20, archived: 20, openings: 1, complete: true });

  const after = await json<{ entries: object[] }>('trace', reference);
  expect(after).toMatchObject({
    code: 0,
    entries: [{ ...before.entries[0], recordedAt: '2020-01-02T00:00:00.000Z' }],
  });
  expect(await json('replay', 'PAYMENT_SUCCESS')).toMatchObject({
    code: 0,
    records: 20,
    forecast: { 'already-applied': 20 },
    changes: [],
  });
  expect(await json('audit', '--topic', 'PAYMENT_SUCCESS')).toMatchObject({
    code: 0,
    findings: 0,
    behindOpenings: 20,
    topic: { records: 20, counts: { 'already-applied': 20 }, entries: 20 },
  });
  // An archived entry that names a record which is not there is found as well.
  await database.archive.updateOne({ _id: `${reference}/` }, { $set: { p: 9 } });
  await database.archive.updateOne({ _id: `SALE_ORDER/SO-8-${system.name}/` }, { $set: { f: 3 as never } });
  const other = await json<{ list: object[] }>('audit', '--topic', 'PAYMENT_SUCCESS');
  expect(other).toMatchObject({ code: 1, topic: { entries: 19 }, list: [{ problem: 'other-record' }] });
});
