/** Judges the ledger, the stocks, Kafka and Temporal by the model, once everything has become quiet. */
import { setTimeout as sleep } from 'node:timers/promises';
import { CATALOGUE_TOPICS, EVENT_TOPICS } from './events';
import { groupBy } from './group';
import { RUNNING, type Lab, type Row } from './lab';
import { quantityText, thousandths, type Document } from './model';

export interface Verdict {
  /** Documents that must be applied. */
  documents: number;
  lost: number;
  doubled: number;
  halfDone: number;
  conflicts: number;
  deadLetters: number;
  /** What is wrong, one text each; empty when nothing is. */
  findings: string[];
}

const MAX_FINDINGS = 40;

/**
 * Waits until the group has passed every record and nothing runs that is not parked.
 * @returns what is still going on after `withinMs`, or nothing
 */
export async function quiet(lab: Lab, withinMs: number): Promise<string | undefined> {
  const parked = new Set([...lab.model.documents.values()].filter(({ edited }) => edited)).size;
  let still = '';
  for (const end = Date.now() + withinMs; Date.now() < end; await sleep(500)) {
    try {
      const behind = await lab.behind();
      const running = await lab.running();
      const waiting = await lab.running(` AND InventoryOutcome = 'PARKED/CONFLICT'`);
      still = `${behind} records not passed, ${running} workflows run, ${waiting} of them parked of ${parked} edited orders`;
      if (behind === 0 && running === waiting && waiting >= parked) return undefined;
    } catch (error) {
      still = (error as Error).message;
    }
  }
  return still;
}

export async function judge(lab: Lab, stillGoingOn: string | undefined): Promise<Verdict> {
  const findings = new Findings();
  if (stillGoingOn !== undefined) findings.add(`not quiet: ${stillGoingOn}`);
  const rows = await lab.tracking.find().toArray();
  const counts = judgeDocuments(lab, rows, findings);
  judgeConflicts(lab, rows, findings);
  await judgeStocks(lab, findings);
  await judgeRunning(lab, findings);
  await judgeOffsets(lab, findings);
  const deadLetters = await judgeDeadLetters(lab, findings);
  await judgeAudits(lab, findings);
  return { ...counts, deadLetters, findings: findings.texts };
}

class Findings {
  readonly texts: string[] = [];
  add(text: string): void {
    if (this.texts.length < MAX_FINDINGS) this.texts.push(text);
    else if (this.texts.length === MAX_FINDINGS) this.texts.push('and more');
  }
}

function judgeDocuments(lab: Lab, rows: Row[], findings: Findings) {
  const counts = { documents: 0, lost: 0, doubled: 0, halfDone: 0, conflicts: 0 };
  const byKey = groupBy(rows, keyOf);
  for (const document of lab.model.documents.values()) {
    const applied = (byKey.get(document.key) ?? []).filter(({ outcome }) => outcome === 'APPLIED');
    if (document.edited) counts.conflicts++;
    if (document.legs.size === 0 || document.fate === 'lost') {
      if (applied.length > 0) findings.add(`${document.key} must not be applied, and is`);
      continue;
    }
    counts.documents++;
    const problem = problemOf(document, applied);
    if (problem === undefined) continue;
    counts[problem]++;
    const found = applied.map((row) => `${row.inventoryStockId} ${row.delta.toString()}`).join(', ');
    findings.add(
      `${problem}: ${document.key} wants ${legsText(document)}, the ledger holds ${found || 'nothing'}`,
    );
  }
  for (const key of byKey.keys()) {
    if (!lab.model.documents.has(key)) findings.add(`${key} is in the ledger and was never published`);
  }
  return counts;
}

function problemOf({ legs }: Document, applied: Row[]): 'lost' | 'doubled' | 'halfDone' | undefined {
  if (applied.length === 0) return 'lost';
  const sums = new Map<string, bigint>();
  for (const { inventoryStockId, delta } of applied) {
    sums.set(inventoryStockId, (sums.get(inventoryStockId) ?? 0n) + thousandths(delta.toString()));
  }
  if (applied.length > legs.size) return 'doubled';
  return [...legs].every(([stock, quantity]) => sums.get(stock) === quantity) ? undefined : 'halfDone';
}

/** Every edited order is parked as a conflict, and nothing else is. */
function judgeConflicts(lab: Lab, rows: Row[], findings: Findings): void {
  const parked = new Map(
    rows.filter(({ outcome }) => outcome === 'PARKED').map((row) => [keyOf(row), row.case]),
  );
  for (const { key, edited } of lab.model.documents.values()) {
    const found = parked.get(key);
    if (edited && found !== 'CONFLICT')
      findings.add(`conflict hidden: ${key} was edited, and its second version is ${found ?? 'not parked'}`);
    if (!edited && found !== undefined) findings.add(`${key} is parked as ${found}, and was never edited`);
  }
}

async function judgeStocks(lab: Lab, findings: Findings): Promise<void> {
  const found = new Map(
    (await lab.stocks.find().toArray()).map(({ _id, onHand }) => [_id, onHand.toString()]),
  );
  const wanted = lab.model.onHand();
  for (const [stock, quantity] of wanted) {
    const onHand = found.get(stock);
    if (onHand === undefined) {
      if (quantity !== 0n) findings.add(`stock ${stock} does not exist`);
    } else if (thousandths(onHand) !== quantity) {
      findings.add(`stock ${stock} holds ${onHand} and must hold ${quantityText(quantity)}`);
    }
  }
}

/** What still runs waits for a person, and belongs to an edited order. */
async function judgeRunning(lab: Lab, findings: Findings): Promise<void> {
  for await (const { workflowId, searchAttributes } of lab.temporal.workflow.list({ query: RUNNING })) {
    const outcome = String(searchAttributes['InventoryOutcome']?.[0]);
    const [type, id] = workflowId.split('/');
    if (outcome !== 'PARKED/CONFLICT' || !lab.model.documents.get(`${type} ${id}`)?.edited) {
      findings.add(`workflow ${workflowId} runs without a reason (${outcome})`);
    }
  }
}

async function judgeOffsets(lab: Lab, findings: Findings): Promise<void> {
  for (const topic of [...EVENT_TOPICS, ...CATALOGUE_TOPICS]) {
    for (const { partition, committed, high } of await lab.offsets(topic)) {
      if (committed !== high)
        findings.add(`${topic}[${partition}] is committed at ${committed}, its end is ${high}`);
    }
  }
}

/** Each broken message has a dead letter, at least one, and nothing else has. */
async function judgeDeadLetters(lab: Lab, findings: Findings): Promise<number> {
  const letters = await lab.deadLetters();
  for (const value of lab.model.broken) {
    if (!letters.includes(value)) findings.add(`no dead letter for ${value}`);
  }
  for (const value of new Set(letters)) {
    if (!lab.model.broken.has(value)) findings.add(`dead letter for a message that is whole: ${value}`);
  }
  return letters.length;
}

/** The product's own proofs, as a person would ask for them. */
async function judgeAudits(lab: Lab, findings: Findings): Promise<void> {
  for (const topic of [undefined, ...EVENT_TOPICS]) {
    const { code, out, err } = await lab.product.cli(
      'audit',
      ...(topic === undefined ? [] : ['--topic', topic]),
    );
    if (code === 0) continue;
    const shown = `${out}\n${err}`.trim().split('\n').slice(0, 5).join(' | ');
    findings.add(
      `inventory audit${topic === undefined ? '' : ` --topic ${topic}`} ended with ${code}: ${shown}`,
    );
  }
}

export function keyOf({ referenceType, referenceId }: Row): string {
  return `${referenceType} ${referenceId}`;
}

function legsText({ legs }: Document): string {
  return [...legs].map(([stock, quantity]) => `${stock} ${quantityText(quantity)}`).join(', ');
}
