/**
 * A command that must not be applied as it is waits here: visible and searchable, without holding up anything else,
 * until a person decides through the Update `resolve`, or the deadline does.
 */
import {
  allHandlersFinished,
  ApplicationFailure,
  condition,
  defineQuery,
  defineUpdate,
  setHandler,
} from '@temporalio/workflow';
import type { MoveStock, MoveStockResult } from '../commands';
import {
  choices,
  DEADLINE_ACTOR,
  describeDecided,
  fault,
  isHindered,
  MAX_RETRIES,
  PARKED_QUERY,
  RESOLVE_UPDATE,
  type Hindrance,
  type Parked,
  type ParkedView,
  type ResolveAnswer,
  type Resolution,
} from '../decisions';
import { decide, park } from './activities';
import { showParked } from './show';
import { waitForStock } from './waitForStock';

/** Parked in this workflow, with what stands against the command. */
type ParkedHere = Parked & Required<Pick<Parked, 'here'>>;

/** Holds the command until it is settled. */
export async function settle(command: MoveStock, first: MoveStockResult): Promise<MoveStockResult> {
  const desk = new Desk(command, first);
  const looked = await waitForStock(command, first, () => desk.isWanted);
  const hindered = isHindered(looked) || (looked.outcome === 'PARKED' && !isParkedHere(looked));
  desk.take(hindered ? await park(command) : looked);
  const result = await desk.untilSettled();
  // Whoever decided too late is still told what was decided.
  await condition(allHandlersFinished);
  return result;
}

/** Takes decisions one at a time. */
class Desk {
  /** A person has decided something: waiting for stock is over. */
  isWanted = false;
  private parked: ParkedHere | undefined;
  private settled: MoveStockResult | undefined;
  private busy = false;
  private retries = 0;

  constructor(
    private readonly command: MoveStock,
    private readonly first: MoveStockResult,
  ) {
    setHandler(defineQuery<ParkedView | null>(PARKED_QUERY), () => this.view(), {
      description: 'the parked command, what stands against it, and what each decision would do',
    });
    setHandler(defineUpdate<ResolveAnswer, [Resolution]>(RESOLVE_UPDATE), (asked) => this.resolve(asked), {
      description: '{ decision: retry | force | correct | discard, actor, reason }',
      validator: (asked: Resolution) => this.validate(asked),
    });
  }

  /** Takes note of where the command stands now. */
  take(result: MoveStockResult): void {
    if (isParkedHere(result)) {
      showParked(this.command, result, this.parked);
      this.parked = result;
    } else {
      this.settled = result;
    }
  }

  async untilSettled(): Promise<MoveStockResult> {
    for (;;) {
      while (this.busy) await condition(() => !this.busy);
      if (this.settled) return this.settled;
      const { until } = this.parked!.here;
      const left = Date.parse(until) - Date.now();
      if (left <= 0) {
        const reason = `undecided until ${until}`;
        await this.carryOut({ decision: 'discard', actor: DEADLINE_ACTOR, reason });
      } else {
        const changed = () => this.settled !== undefined || this.parked!.here.until !== until;
        await condition(changed, left, { summary: `parked until ${until}` });
      }
    }
  }

  private validate(asked: Resolution): void {
    if (this.settled) throw refusal(`already settled: ${describeSettled(this.settled)}`);
    const problem = fault(asked, this.against());
    if (problem !== undefined) throw refusal(problem);
    if (asked.decision !== 'retry') return;
    if (!this.parked) throw refusal('not parked yet: it waits for its stock, and looks again by itself');
    if (this.retries >= MAX_RETRIES) {
      throw refusal(`retried ${MAX_RETRIES} times already: discard it; it can be re-opened later`);
    }
  }

  private async resolve(asked: Resolution): Promise<ResolveAnswer> {
    this.isWanted = true;
    // Whoever waits beside others looks again once it is woken: one of the others may have gone first.
    const free = () => this.settled !== undefined || (this.parked !== undefined && !this.busy);
    while (!free()) await condition(free);
    if (this.settled) return { became: 'decided-before', result: this.settled };
    if (asked.decision === 'retry') this.retries++;
    const { against } = this.parked!.here;
    const asOf = against.outcome === 'CONFLICT' ? against.asOf : undefined;
    const result = await this.carryOut(
      asOf === undefined || asked.asOf !== undefined ? asked : { ...asked, asOf },
    );
    if (result.outcome === 'PARKED') return { became: 'parked-again', result };
    return { became: isBy(result, asked) ? 'decided' : 'decided-before', result };
  }

  private async carryOut(resolution: Resolution): Promise<MoveStockResult> {
    this.busy = true;
    try {
      const result = await decide(this.command, resolution);
      this.take(result);
      return result;
    } finally {
      this.busy = false;
    }
  }

  private against(): Hindrance {
    if (this.parked) return this.parked.here.against;
    // Not parked yet: it waits for its stock, or it is being parked at this moment.
    return isHindered(this.first) ? this.first : { outcome: 'REFUSED', short: [] };
  }

  private view(): ParkedView | null {
    if (!this.parked || this.settled) return null;
    const { here, of } = this.parked;
    return {
      command: this.command,
      case: here.against.outcome,
      parkedAt: of.recordedAt,
      until: here.until,
      against: here.against,
      choices: choices(here.against),
    };
  }
}

function isParkedHere(result: MoveStockResult): result is ParkedHere {
  return result.outcome === 'PARKED' && result.here !== undefined;
}

function isBy(result: MoveStockResult, asked: Resolution): boolean {
  const decided = 'decided' in result ? result.decided : undefined;
  return (
    decided?.decision === asked.decision && decided.actor === asked.actor && decided.reason === asked.reason
  );
}

function describeSettled(result: MoveStockResult): string {
  const decided = 'decided' in result ? result.decided : undefined;
  return decided ? `${result.outcome}, ${describeDecided(decided)}` : result.outcome;
}

function refusal(message: string): ApplicationFailure {
  return ApplicationFailure.nonRetryable(message, 'ResolutionRefused');
}
