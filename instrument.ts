/**
 * Imported before everything else by the program: the MongoDB driver can only be traced when this comes first. Off,
 * and nothing of OpenTelemetry is even loaded, unless `OTEL_TRACES_EXPORTER` says where traces go.
 */
import type * as tracingModule from './tracing';

const { OTEL_TRACES_EXPORTER: exporter, OTEL_SDK_DISABLED: disabled } = process.env;

export const tracing: tracingModule.Tracing | undefined =
  (exporter === 'otlp' || exporter === 'console') && disabled !== 'true'
    ? // eslint-disable-next-line @typescript-eslint/no-require-imports -- only when wanted, and at once
      (require('./tracing') as typeof tracingModule).startTracing(exporter)
    : undefined;
