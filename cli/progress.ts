/** How far a long run is, on one line of a terminal; elsewhere nothing, so that logs and pipes stay clean. */
export class Progress {
  private readonly startedAt = Date.now();
  private shownAt = 0;
  private width = 0;

  constructor(
    private readonly title: string,
    private readonly out: NodeJS.WriteStream = process.stderr,
  ) {}

  /** @param of how many there will be; unknown when left out or zero */
  show(done: number, of = 0, note = ''): void {
    if (!this.out.isTTY || Date.now() < this.shownAt + 200) return;
    this.shownAt = Date.now();
    const seconds = Math.max(0.001, (Date.now() - this.startedAt) / 1_000);
    const rate = Math.round(done / seconds);
    const share = of > 0 ? Math.min(1, done / of) : undefined;
    const left = share ? ` ${duration((seconds / share) * (1 - share))} left` : '';
    const bar = share === undefined ? '' : ` [${'#'.repeat(Math.floor(share * 20)).padEnd(20, '.')}]`;
    this.write(
      `${this.title}${bar} ${count(done)}${of > 0 ? ` of ${count(of)}` : ''}, ${count(rate)}/s${left} ${note}`,
    );
  }

  /** Wipes the line: what is printed next stands on a fresh one. */
  clear(): void {
    if (this.width > 0) this.write('');
    this.width = 0;
    this.shownAt = 0;
  }

  private write(text: string): void {
    const line = text.slice(0, (this.out.columns || 80) - 1);
    this.out.write(`\r${line.padEnd(this.width)}${line === '' ? '\r' : ''}`);
    this.width = line.length;
  }
}

/** `12,345` */
export function count(value: number): string {
  return value.toLocaleString('en-US');
}

/** `42 s`, `3 min` */
export function duration(seconds: number): string {
  return seconds < 90 ? `${Math.round(seconds)} s` : `${Math.round(seconds / 60)} min`;
}

/** Colours only where a person looks. */
export function paint(text: string, colour: 'red' | 'green' | 'yellow' | 'dim'): string {
  if (!process.stdout.isTTY || process.env['NO_COLOR']) return text;
  const code = { red: 31, green: 32, yellow: 33, dim: 2 }[colour];
  return `\u001b[${code}m${text}\u001b[0m`;
}
