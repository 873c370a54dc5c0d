/** Whether a process can make progress, told over HTTP: which part cannot, and why. */
import { collectDefaultMetrics } from 'prom-client';
import type { Config } from './config';
import { openEndpoint, type Readiness } from './http';
import type { Logger } from './log';
import { metrics, registry } from './metrics';

export type Part = 'bridge' | 'worker';

export interface Health {
  /** From now on a part says itself why it makes no progress; an empty list says that it does. */
  report(part: Part, reasons: () => string[]): void;
  /**
   * Asks a server every 3 seconds until the drain, however often somebody probes. While it does not answer, the parts are not ready.
   * @param name as readiness shows it
   * @param ask rejects, or takes longer than 6 seconds, when the server is of no use
   */
  watch(name: string, parts: readonly Part[], ask: () => Promise<unknown>): void;
  /** Not ready any more, whatever the parts say: the first step of a drain. */
  draining(): void;
  /** The last step. */
  close(): Promise<void>;
}

/**
 * Opens the endpoint, unless it is turned off. A part that has not reported yet is starting.
 * @throws ConfigError when it cannot listen where the settings say
 */
export async function openHealth(
  config: Pick<Config, 'HTTP_HOST' | 'HTTP_PORT'>,
  parts: Record<Part, boolean>,
  log: Logger,
): Promise<Health> {
  const running = (['bridge', 'worker'] as const).filter((part) => parts[part]);
  const reporting = new Map<Part, () => string[]>(running.map((part) => [part, () => ['starting']]));
  const watching: { watched: Watched; parts: readonly Part[] }[] = [];
  const reasonsOf = (part: Part): string[] => [
    ...reporting.get(part)!(),
    ...watching
      .filter((one) => one.parts.includes(part))
      .map((one) => one.watched.reason())
      .filter((reason) => reason !== undefined),
  ];
  const readiness = (): Readiness => {
    const told = running.map((part) => ({ part, reasons: reasonsOf(part) }));
    return {
      ready: told.every(({ reasons }) => reasons.length === 0),
      parts: Object.fromEntries(
        told.map(({ part, reasons }) => [part, { ready: reasons.length === 0, reasons }]),
      ),
    };
  };
  const endpoint =
    config.HTTP_PORT === 'off'
      ? undefined
      : await openEndpoint({
          host: config.HTTP_HOST,
          port: config.HTTP_PORT,
          readiness,
          metrics: () => {
            for (const [part, { ready }] of Object.entries(readiness().parts))
              metrics.ready.set({ part }, Number(ready));
            return registry.metrics();
          },
        });
  if (endpoint) {
    if (!registry.getSingleMetric('process_cpu_seconds_total')) collectDefaultMetrics({ register: registry });
    log.info({ url: endpoint.url }, 'serves /metrics, /healthz and /readyz');
  }
  return {
    report: (part, reasons) => void reporting.set(part, reasons),
    watch: (name, concerned, ask) =>
      void watching.push({ watched: watchServer(name, ask, log), parts: concerned }),
    draining: () => {
      for (const { watched } of watching.splice(0)) watched.stop();
      for (const part of reporting.keys()) reporting.set(part, () => ['draining']);
    },
    close: async () => {
      for (const { watched } of watching.splice(0)) watched.stop();
      await endpoint?.close();
    },
  };
}

/** A server that is asked now and then, so that probes read what is known instead of asking themselves. */
interface Watched {
  /** Why it is of no use at the moment; undefined while it answers. */
  reason(): string | undefined;
  stop(): void;
}

/** Often enough that readiness follows within seconds; one small question each time. */
const ASK_EVERY_MS = 3_000;
/** Longer than the MongoDB driver looks for a primary (5 s), so that its own explanation arrives. */
const ANSWER_WITHIN_MS = 6_000;

/** Says in the log, too, when a server goes away and comes back. */
function watchServer(name: string, ask: () => Promise<unknown>, log: Logger): Watched {
  let away: { since: number; message: string } | undefined;
  let timer: NodeJS.Timeout | undefined;
  let stopped = false;

  const look = async () => {
    const message = await answered(ask);
    if (stopped) return;
    if (message !== undefined && !away) log.warn({ server: name, message }, 'a server does not answer');
    if (message === undefined && away) log.info({ server: name }, 'the server answers again');
    away = message === undefined ? undefined : { since: away?.since ?? Date.now(), message };
    timer = setTimeout(() => void look(), ASK_EVERY_MS).unref();
  };
  void look();
  return {
    reason: () =>
      away &&
      `${name} has not answered for ${Math.round((Date.now() - away.since) / 1000)} s: ${away.message}`,
    stop: () => {
      stopped = true;
      clearTimeout(timer);
    },
  };
}

/** Never rejects: undefined, or what went wrong. */
async function answered(ask: () => Promise<unknown>): Promise<string | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const tooLate = new Promise<string>((resolve) => {
    timer = setTimeout(() => resolve(`no answer within ${ANSWER_WITHIN_MS / 1000} s`), ANSWER_WITHIN_MS);
  });
  const asked = ask().then(
    () => undefined,
    (error: unknown) => (error instanceof Error ? error.message : String(error)),
  );
  try {
    return await Promise.race([asked, tooLate]);
  } finally {
    clearTimeout(timer);
  }
}
