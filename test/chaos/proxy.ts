/**
 * A TCP proxy in front of a server: cuts connections, delays or loses answers, holds requests, and counts what it did,
 * so that a fault can prove that it hit somebody.
 */
import { createServer, connect, type AddressInfo, type Server, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** What is done to traffic now; nothing when empty. */
export interface Rule {
  /** New connections are closed at once. */
  refuse?: boolean;
  /** Every answer comes this much later. */
  delayMs?: number;
  /** Answers are dropped; the connection stays. */
  swallow?: boolean;
  /** From the request that holds this text on, a connection's requests do not reach the server. */
  holdAt?: string;
  /** A request that holds this text reaches the server; instead of its answer the connection breaks. */
  loseAnswerTo?: string;
}

interface Pair {
  client: Socket;
  server: Socket;
  held: Buffer[] | undefined;
  losing: boolean;
  /** Answers keep their order, whatever the delay was when each came. */
  answers: Promise<unknown>;
}

export class Proxy {
  readonly counts = {
    cut: 0,
    refused: 0,
    delayed: 0,
    swallowedBytes: 0,
    held: 0,
    answersLost: 0,
    closedByServer: 0,
    askedBytes: 0,
    answeredBytes: 0,
  };
  rule: Rule = {};
  /** Port of the server; set before anybody connects. */
  target = 0;
  private readonly pairs = new Set<Pair>();

  private constructor(private readonly listener: Server) {
    listener.on('connection', (client) => this.accept(client));
  }

  static async open(): Promise<Proxy> {
    const listener = createServer();
    await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
    return new Proxy(listener);
  }

  get port(): number {
    return (this.listener.address() as AddressInfo).port;
  }

  /** Back to passing everything on, held requests first. */
  heal(): void {
    this.rule = {};
    for (const pair of this.pairs) {
      for (const chunk of pair.held ?? []) pair.server.write(chunk);
      pair.held = undefined;
    }
  }

  /** Breaks every connection there is. */
  cut(): void {
    for (const pair of this.pairs) this.break(pair);
  }

  async close(): Promise<void> {
    const closed = new Promise((resolve) => this.listener.close(resolve));
    this.cut();
    await closed;
  }

  private accept(client: Socket): void {
    client.on('error', () => undefined);
    if (this.rule.refuse) {
      this.counts.refused++;
      return void client.resetAndDestroy();
    }
    const server = connect(this.target, '127.0.0.1');
    const pair: Pair = { client, server, held: undefined, losing: false, answers: Promise.resolve() };
    this.pairs.add(pair);
    for (const [one, other] of [
      [client, server],
      [server, client],
    ] as const) {
      one.setNoDelay(true);
      one.on('error', () => undefined);
      one.on('close', () => {
        other.destroy();
        if (this.pairs.delete(pair) && one === server) this.counts.closedByServer++;
      });
    }
    client.on('data', (chunk: Buffer) => this.ask(pair, chunk));
    server.on('data', (chunk: Buffer) => this.answer(pair, chunk));
  }

  private ask(pair: Pair, chunk: Buffer): void {
    this.counts.askedBytes += chunk.length;
    const { holdAt, loseAnswerTo } = this.rule;
    if (holdAt !== undefined && !pair.held && chunk.includes(holdAt)) {
      this.counts.held++;
      pair.held = [];
    }
    if (pair.held) return void pair.held.push(chunk);
    if (loseAnswerTo !== undefined && chunk.includes(loseAnswerTo)) pair.losing = true;
    pair.server.write(chunk);
  }

  private answer(pair: Pair, chunk: Buffer): void {
    this.counts.answeredBytes += chunk.length;
    if (pair.losing) {
      this.counts.answersLost++;
      return this.break(pair);
    }
    if (this.rule.swallow) {
      this.counts.swallowedBytes += chunk.length;
      return;
    }
    const { delayMs = 0 } = this.rule;
    if (delayMs > 0) this.counts.delayed++;
    const due = Date.now() + delayMs;
    pair.answers = pair.answers
      .then(() => (due > Date.now() ? sleep(due - Date.now()) : undefined))
      .then(() => pair.client.write(chunk));
  }

  private break(pair: Pair): void {
    this.counts.cut++;
    this.pairs.delete(pair);
    pair.client.resetAndDestroy();
    pair.server.destroy();
  }
}
