/**
 * Grouped starts. Up to a rate, every command gets a workflow of its own, to be seen one by one in the Web UI;
 * above it, commands are collected into groups, one workflow each, because what Temporal charges, in time and in
 * money, is workflows. The ledger keeps both ways equal: any mix of them gives the same stock.
 */
import { WorkflowFailedError } from '@temporalio/client';
import type { WorkflowClient } from '@temporalio/client';
import { groupWorkflowId, workflowIdOf } from '../commands';
import type { Command, EnsureCatalogueBatch, MoveStock, MoveStockBatch } from '../commands';
import type { Logger } from '../log';
import { metrics } from '../metrics';
import { describeGroup } from './describe';
import { StartUnavailable } from './start';
import type { Launcher, Starter } from './start';
import { currentLink, traceGroup } from './trace';
import { aboutCommand } from './tell';
import { settlesWithin } from './waiting';

export interface GroupSettings {
  /** Commands per second that get a workflow of their own. */
  singleStartsPerSecond: number;
  /** Most commands in one group; with 1 nothing is grouped, and nothing held back. */
  groupMax: number;
  /** Longest wait of a command for others to fill its group. */
  groupLingerMs: number;
  client: WorkflowClient;
  log: Logger;
}

/** Temporal warns from 512 KiB of input and refuses 2 MiB; nothing near either is ever sent. */
const GROUP_MAX_BYTES = 450_000;

/**
 * Groups started and not yet finished: one is in a transaction, some wait to be in the next, one is being started, and
 * one closes. Measured with groups of 1,000, as commands of three legs have by their bytes: 8,100 events a second with
 * three, 8,600 with six, 8,200 with ten; with groups of 2,000 the same within what repetitions differ by. More would
 * only move the backlog from Kafka, where it is cheap, into Temporal.
 */
const GROUPS_IN_FLIGHT = 6;

/**
 * Single starts under way: those not yet answered, which are many only where Temporal is slower than the set rate, and
 * those that are followed until their workflow has ended. Where workflows do not end, because MongoDB or the workers
 * are away, or where many wait for stock or a person, all of these places are taken after a few hundred, and groups hold
 * the rest back in Kafka.
 */
const SINGLES_IN_FLIGHT = 20;
/** So many are started for each that is followed: following each would have Temporal answer twice per event. */
const ONE_FOLLOWED_IN = 20;

/** A workflow that has not ended after this no longer holds the next one back: it waits for a person, say. */
const WAIT_MS = 5 * 60_000;

interface Member {
  command: Command;
  bytes: number;
  link: ReturnType<typeof currentLink>;
  signal: AbortSignal | undefined;
  resolve: (result: 'started' | 'duplicate') => void;
  reject: (error: unknown) => void;
}

/** @param single starts what is below the rate */
export function createGroupingStarter(single: Starter, launch: Launcher, settings: GroupSettings): Starter {
  const alone: Starter['start'] = async (command, signal) => {
    const result = await single.start(command, signal);
    const { log } = settings;
    if (log.isLevelEnabled('debug')) log.debug({ ...aboutCommand(command), result }, 'command handed over');
    return result;
  };
  if (settings.groupMax === 1) return { start: alone };
  const rate = new Rate(settings.singleStartsPerSecond);
  const inFlight = new Slots(GROUPS_IN_FLIGHT);
  const stock = new Group('moveStockBatch', launch, inFlight, settings);
  const catalogue = new Group('ensureCatalogueBatch', launch, inFlight, settings);
  const singles = new Slots(SINGLES_IN_FLIGHT);
  let singlesStarted = 0;
  // While a group fills or runs, what comes joins the next one: a stalled bridge sees no commands, and must not take
  // that for a quiet hour and start a handful of workflows into the stall.
  const isQuiet = () => inFlight.areAllFree && stock.isEmpty && catalogue.isEmpty;
  const startSingle: Starter['start'] = async (command, signal) => {
    const release = await singles.take();
    let until: Promise<unknown> | undefined;
    try {
      const result = await alone(command, signal);
      if (singlesStarted++ % ONE_FOLLOWED_IN === 0) until = ended(settings.client, workflowIdOf(command));
      return result;
    } finally {
      void Promise.resolve(until).then(release);
    }
  };
  return {
    start: (command, signal) => {
      if (rate.isBelow() && isQuiet() && singles.isOneFree) return startSingle(command, signal);
      return (command.type === 'moveStock' ? stock : catalogue).add(command, signal);
    },
  };
}

/**
 * Whether commands come slower than the rate. Every command counts, grouped ones too: a steady overload is grouped
 * altogether instead of paying for a few workflows beside its groups, and single starts return within two seconds
 * after the load has fallen.
 */
class Rate {
  private allowance: number;
  private at = performance.now();

  constructor(private readonly perSecond: number) {
    this.allowance = perSecond;
  }

  isBelow(): boolean {
    const now = performance.now();
    this.allowance = Math.min(this.allowance + ((now - this.at) / 1_000) * this.perSecond, this.perSecond);
    this.at = now;
    this.allowance = Math.max(this.allowance - 1, -this.perSecond - 1);
    return this.allowance >= 0;
  }
}

/** Collects commands of one kind and starts a workflow for as many as there are when its turn comes. */
class Group {
  private members: Member[] = [];
  /** Whose end is listened for already: a listener for each of thousands of members cost more than grouping them. */
  private readonly listenedTo = new WeakSet<AbortSignal>();
  private timer: NodeJS.Timeout | undefined;
  private flushing = false;

  constructor(
    private readonly type: 'moveStockBatch' | 'ensureCatalogueBatch',
    private readonly launch: Launcher,
    private readonly inFlight: Slots,
    private readonly settings: GroupSettings,
  ) {}

  get isEmpty(): boolean {
    return this.members.length === 0;
  }

  add(command: Command, signal: AbortSignal | undefined): Promise<'started' | 'duplicate'> {
    return new Promise((resolve, reject) => {
      const bytes = Buffer.byteLength(JSON.stringify(command.input)) + 1;
      const member: Member = { command, bytes, link: currentLink(), signal, resolve, reject };
      this.members.push(member);
      if (signal?.aborted) return this.leave(signal);
      if (signal && !this.listenedTo.has(signal)) {
        this.listenedTo.add(signal);
        signal.addEventListener('abort', () => this.leave(signal), { once: true });
      }
      if (this.members.length >= this.settings.groupMax) void this.flush();
      else this.timer ??= setTimeout(() => void this.flush(), this.settings.groupLingerMs);
    });
  }

  /** Who is in a group is decided when its turn has come: the longer that takes, the larger it is. Never rejects. */
  private async flush(): Promise<void> {
    clearTimeout(this.timer);
    this.timer = undefined;
    if (this.flushing) return;
    this.flushing = true;
    do {
      const release = await this.inFlight.take();
      const members = this.cut();
      if (members.length > 0) void this.start(members, release);
      else release();
    } while (this.members.length >= this.settings.groupMax);
    this.flushing = false;
    if (this.members.length > 0)
      this.timer ??= setTimeout(() => void this.flush(), this.settings.groupLingerMs);
  }

  /** Nobody waits any more for members whose turn has not come: they are told what they waited for. */
  private leave(signal: AbortSignal): void {
    const leaving = this.members.filter((member) => member.signal === signal);
    this.members = this.members.filter((member) => member.signal !== signal);
    const waitedFor = `${GROUPS_IN_FLIGHT} groups that were started are not finished`;
    for (const member of leaving) member.reject(new StartUnavailable('groups-unfinished', waitedFor));
  }

  /** Takes the members of the next group. */
  private cut(): Member[] {
    const group: Member[] = [];
    let bytes = 0;
    let taken = 0;
    for (const member of this.members) {
      if (
        group.length === this.settings.groupMax ||
        (group.length > 0 && bytes + member.bytes > GROUP_MAX_BYTES)
      )
        break;
      taken++;
      group.push(member);
      bytes += member.bytes;
    }
    this.members.splice(0, taken);
    return group;
  }

  /** Never rejects: the answer goes to each member, who tries again as it would alone. */
  private async start(members: Member[], release: () => void): Promise<void> {
    const commands = members.map(({ command }) => command);
    const memberIds = commands.map(workflowIdOf);
    const workflowId = groupWorkflowId(memberIds);
    try {
      const launch = {
        type: this.type,
        workflowId,
        input: this.inputOf(commands),
        description: describeGroup(commands, memberIds),
      };
      const links = members.map(({ link }) => link);
      const result = await traceGroup(links, () => this.launch(launch));
      metrics.groupCommands.observe(members.length);
      for (const member of members) member.resolve(result);
      this.tell(commands, workflowId, result);
      const onFailure = (err: unknown) => {
        // Anything else is our own question that got no answer, as when the process ends.
        if (err instanceof WorkflowFailedError)
          this.settings.log.warn({ workflowId, commands: members.length, err }, 'a group failed');
      };
      void ended(this.settings.client, workflowId, onFailure).then(release);
    } catch (error) {
      release();
      for (const member of members) member.reject(error);
    }
  }

  private tell(commands: Command[], workflowId: string, result: string): void {
    const { log } = this.settings;
    if (!log.isLevelEnabled('debug')) return;
    for (const command of commands) {
      log.debug({ ...aboutCommand(command), workflowId, result }, 'command handed over in a group');
    }
  }

  private inputOf(commands: Command[]): MoveStockBatch | EnsureCatalogueBatch {
    return this.type === 'moveStockBatch'
      ? { schema: 1, commands: commands.map(({ input }) => input as MoveStock) }
      : { schema: 1, commands: commands as EnsureCatalogueBatch['commands'] };
  }
}

/**
 * Resolves when the workflow has ended, and in time; never rejects. It is durable already: waiting for it only keeps
 * Temporal's backlog small.
 */
async function ended(
  client: WorkflowClient,
  workflowId: string,
  onFailure: (err: unknown) => void = () => undefined,
): Promise<void> {
  // The deadline ends the question as well: a parked workflow would be asked about for weeks.
  const result = client.withDeadline(Date.now() + WAIT_MS, () => client.result(workflowId));
  await settlesWithin(result.catch(onFailure), WAIT_MS);
}

/** A bounded number of holders; whoever waits longest is next. */
class Slots {
  private readonly waiting: (() => void)[] = [];
  private free: number;

  constructor(private readonly all: number) {
    this.free = all;
  }

  get areAllFree(): boolean {
    return this.free === this.all;
  }

  get isOneFree(): boolean {
    return this.free > 0;
  }

  async take(): Promise<() => void> {
    if (this.free > 0) this.free--;
    else await new Promise<void>((resolve) => this.waiting.push(resolve));
    return () => {
      const next = this.waiting.shift();
      if (next) next();
      else this.free++;
    };
  }
}
