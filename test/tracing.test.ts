/** One trace from the producer's header to the commands that MongoDB gets. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tracing } from '../instrument';
import { createSystem, type System } from './system';

interface Span {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  attributes: { key: string; value: { stringValue?: string } }[];
  links?: { traceId: string; spanId: string }[];
}

/** A collector: keeps what is sent to it as OTLP over HTTP in JSON. */
async function collector() {
  const spans: Span[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = JSON.parse(Buffer.concat(chunks).toString()) as {
        resourceSpans: { scopeSpans: { spans: Span[] }[] }[];
      };
      spans.push(...body.resourceSpans.flatMap((one) => one.scopeSpans.flatMap((scope) => scope.spans)));
      response.setHeader('content-type', 'application/json').end('{}');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    spans,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () => new Promise((resolve) => server.close(resolve)),
  };
}

const otlp = (url: string) => ({
  OTEL_TRACES_EXPORTER: 'otlp',
  OTEL_EXPORTER_OTLP_ENDPOINT: url,
  OTEL_BSP_SCHEDULE_DELAY: '200',
});
const paid = (system: System, n: number) => ({
  saleOrderId: `SO-${n}-${system.name}`,
  paidAt: '2026-11-01T12:00:00Z',
  lines: [{ stockId: 'A', quantity: '1' }],
});

test('nothing is traced, nor even loaded for it, unless a variable says where traces go', () => {
  expect(process.env['OTEL_TRACES_EXPORTER']).toBeUndefined();
  expect(tracing).toBeUndefined();
});

test('a trace goes from the producer through bridge, workflow and activity to MongoDB', async () => {
  const { spans, url, close } = await collector();
  const system = await createSystem(1);
  try {
    await system.database.stock('A', '10');
    await system.start('run', { ...otlp(url), SINGLE_STARTS_PER_SECOND: '1000' });
    const traceId = '0af7651916cd43dd8448eb211c80319c';
    const producerSpan = 'b7ad6b7169203331';
    const event = paid(system, 1);
    await system.publish('PAYMENT_SUCCESS', [event], 0, { traceparent: `00-${traceId}-${producerSpan}-01` });

    const ours = () => spans.filter((span) => span.traceId === traceId);
    const named = (name: string) => ours().find((span) => span.name === name);
    while (!named('RunWorkflow:moveStock') || !ours().some(({ name }) => name.includes('commitTransaction')))
      await new Promise((resolve) => setTimeout(resolve, 100));

    const process = named(`process ${system.name}.PAYMENT_SUCCESS`)!;
    expect(process.parentSpanId).toBe(producerSpan);
    const start = named('StartWorkflow:moveStock')!;
    expect(start.parentSpanId).toBe(process.spanId);
    expect(named('RunWorkflow:moveStock')!.parentSpanId).toBe(start.spanId);
    const activity = named('RunActivity:adjustStock')!;
    const inserts = ours().find(({ name }) => name.includes('insert'))!;
    expect(inserts.parentSpanId).toBe(activity.spanId);
    // What an event says belongs into no trace.
    expect(JSON.stringify(ours())).not.toContain('"stockId"');
    expect(JSON.stringify(inserts.attributes)).not.toContain(event.saleOrderId);
  } finally {
    await system.close();
    await close();
  }
});

test('commands of a group are linked from the trace of the group', async () => {
  const { spans, url, close } = await collector();
  const system = await createSystem(1);
  try {
    await system.database.stock('A', '10');
    await system.start('run', { ...otlp(url), SINGLE_STARTS_PER_SECOND: '0' });
    await system.publish('PAYMENT_SUCCESS', [paid(system, 1), paid(system, 2)], 0);
    const groups = () => spans.filter(({ name }) => name === 'start group');
    const linked = () => groups().flatMap(({ links = [] }) => links.map(({ spanId }) => spanId));
    while (linked().length < 2) await new Promise((resolve) => setTimeout(resolve, 100));
    const records = spans.filter(({ name }) => name === `process ${system.name}.PAYMENT_SUCCESS`);
    expect(linked().sort()).toEqual(records.map(({ spanId }) => spanId).sort());
  } finally {
    await system.close();
    await close();
  }
});
