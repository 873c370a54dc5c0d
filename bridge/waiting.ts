/** Waiting, bounded and with jitter. */

/** Resolves after `ms`, or at once when the signal is aborted. */
export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const done = () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal?.addEventListener('abort', done, { once: true });
  });
}

/** 75 % to 125 % of `ms`: many waiters that failed together don't come back together. */
export function jittered(ms: number): number {
  return ms * (0.75 + Math.random() / 2);
}

/** True when the promise settled within `ms`, however it settled; it is never left unhandled. */
export async function settlesWithin(promise: Promise<unknown>, ms: number): Promise<boolean> {
  const late = new AbortController();
  const settled = promise.then(
    () => true,
    () => true,
  );
  const inTime = await Promise.race([settled, sleep(ms, late.signal).then(() => false)]);
  late.abort();
  return inTime;
}
