/**
 * OpenTelemetry: one trace from the producer's `traceparent` header through bridge, workflow and activity to the
 * commands that MongoDB gets. Endpoint, sampler, service name and the like come from OpenTelemetry's own variables.
 */
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { registerInstrumentations } from '@opentelemetry/instrumentation';
import { MongoDBInstrumentation } from '@opentelemetry/instrumentation-mongodb';
import { detectResourcesSync, envDetectorSync, Resource } from '@opentelemetry/resources';
import { BatchSpanProcessor, ConsoleSpanExporter } from '@opentelemetry/sdk-trace-base';
import { NodeTracerProvider } from '@opentelemetry/sdk-trace-node';
import type { WorkflowClientInterceptor } from '@temporalio/client';
import {
  makeWorkflowExporter,
  OpenTelemetryActivityInboundInterceptor,
  OpenTelemetryWorkflowClientInterceptor,
  type OpenTelemetrySinks,
} from '@temporalio/interceptors-opentelemetry';
import type { ActivityInterceptorsFactory, InjectedSinks } from '@temporalio/worker';

import { traced } from './bridge/trace';

/** What bridge and worker need to take part in traces. */
export interface Tracing {
  /** Interceptors of the client that starts workflows. */
  client: WorkflowClientInterceptor[];
  /** Interceptors of the worker's activities. */
  activity: ActivityInterceptorsFactory[];
  /** Spans of workflow code leave its sandbox this way; the traced bundle holds their other end. */
  sinks: InjectedSinks<OpenTelemetrySinks>;
  /** Sends what is still waiting to be sent. Never rejects; bounded by `OTEL_BSP_EXPORT_TIMEOUT`. */
  stop(): Promise<void>;
}

export function startTracing(exporter: 'otlp' | 'console'): Tracing {
  const resource = new Resource({ 'service.name': 'inventory' }).merge(
    detectResourcesSync({ detectors: [envDetectorSync] }),
  );
  const processor = new BatchSpanProcessor(
    exporter === 'otlp' ? new OTLPTraceExporter() : new ConsoleSpanExporter(),
  );
  const provider = new NodeTracerProvider({ resource, spanProcessors: [processor] });
  provider.register();
  traced.on = true;
  // Values stay out of the spans: the instrumentation replaces them in the command that it shows.
  registerInstrumentations({ instrumentations: [new MongoDBInstrumentation()] });
  return {
    client: [new OpenTelemetryWorkflowClientInterceptor()],
    activity: [(info) => ({ inbound: new OpenTelemetryActivityInboundInterceptor(info) })],
    sinks: { exporter: makeWorkflowExporter(processor, resource) },
    stop: () => provider.shutdown().catch(() => undefined),
  };
}
