/** Spans of the bridge. Without a tracer, which is the default, all of this does nothing. */
import {
  context,
  propagation,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
  type Link,
  type Span,
  type TextMapGetter,
} from '@opentelemetry/api';
import type { KafkaRecord } from './records';

/** Turned on by whoever sets a tracer. */
export const traced = { on: false };

type Headers = NonNullable<KafkaRecord['headers']>;

const headers: TextMapGetter<Headers> = {
  keys: (carrier) => Object.keys(carrier),
  get: (carrier, key) => {
    const value = carrier[key];
    const first = Array.isArray(value) ? value[0] : value;
    return first?.toString();
  },
};

/** What happens to a record, as part of the trace that its producer put into the headers. */
export function traceRecord<T>(record: KafkaRecord, work: () => Promise<T>): Promise<T> {
  // Thousands of records a second come here, and nearly nobody traces.
  if (!traced.on) return work();
  const { topic, partition, offset } = record;
  const producer = propagation.extract(ROOT_CONTEXT, record.headers ?? {}, headers);
  const attributes = {
    'messaging.system': 'kafka',
    'messaging.operation.type': 'process',
    'messaging.destination.name': topic,
    'messaging.destination.partition.id': String(partition),
    'messaging.kafka.offset': offset,
  };
  return tracer().startActiveSpan(
    `process ${topic}`,
    { kind: SpanKind.CONSUMER, attributes },
    producer,
    (span) => ended(span, work),
  );
}

/** The span that is at work now, for a group that carries on what it began; undefined when nothing is traced. */
export function currentLink(): Link | undefined {
  const span = trace.getSpan(context.active());
  return span && { context: span.spanContext() };
}

/** A group has many parents, so it begins a trace of its own that is linked with theirs. */
export function traceGroup<T>(links: readonly (Link | undefined)[], work: () => Promise<T>): Promise<T> {
  const given = links.filter((link) => link !== undefined);
  const attributes = { 'messaging.batch.message_count': links.length };
  return tracer().startActiveSpan('start group', { root: true, links: given, attributes }, (span) =>
    ended(span, work),
  );
}

function tracer() {
  return trace.getTracer('inventory');
}

async function ended<T>(span: Span, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    span.setStatus({ code: SpanStatusCode.ERROR, message: error instanceof Error ? error.name : 'error' });
    throw error;
  } finally {
    span.end();
  }
}
