/** What was measured, as it stands in the raw file: one JSON object a line, the first one says where and when. */
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import type { ContenderName } from './contenders';
import type { TemporalCost } from './histories';
import type { WorkloadName } from './workloads';

export interface Backlog {
  kind: 'backlog';
  workload: WorkloadName;
  events: number;
  /** From the first commit to the last. */
  perSecond: number;
  /** From the moment the contender was let go to the last commit. */
  seconds: number;
  /** Processor seconds per 1,000 events by process. */
  cpuPerThousand: Record<string, number>;
  memoryMb: Record<string, number>;
  temporal?: TemporalCost;
  bytesPerEvent?: number;
  indexBytesPerEvent?: number;
  check: string;
}

export interface Quantiles {
  p50: number;
  p99: number;
  most: number;
}

export interface Latency {
  kind: 'latency';
  perSecond: number;
  events: number;
  /** To the commit. */
  committedMs: Quantiles;
  /** To the moment when a reader with majority read concern has it in hand. */
  readableMs?: Quantiles;
  check: string;
}

/** What could not be measured, and why. */
export interface Failure {
  kind: 'failure';
  of: string;
  reason: string;
}

export type Sample = (Backlog | Latency | Failure) & {
  run: number;
  contender: ContenderName;
  processes: number;
  /** Entries in the ledger beforehand. */
  ledger: number;
  /** Load average over one minute just before: other programs on the machine make every figure worse. */
  load: number;
};

export interface Where {
  date: string;
  machine: string;
  cores: number;
  temporal: string;
  versions: Record<string, string>;
  runs: number;
  events: number;
}

export interface Results {
  where: Where;
  samples: Sample[];
}

/** A file that is complete up to the last measurement, however the run ends. */
export function openRaw(file: string, where: Where): (sample: Sample) => void {
  writeFileSync(file, `${JSON.stringify(where)}\n`);
  return (sample) => appendFileSync(file, `${JSON.stringify(sample)}\n`);
}

export function readRaw(file: string): Results {
  const [where, ...samples] = readFileSync(file, 'utf8').trimEnd().split('\n');
  return { where: JSON.parse(where!) as Where, samples: samples.map((line) => JSON.parse(line) as Sample) };
}

/** Least and most of some figures. */
export interface Span {
  least: number;
  most: number;
}

export function spanOf(figures: readonly (number | undefined)[]): Span | undefined {
  const known = figures.filter((figure) => figure !== undefined && Number.isFinite(figure)) as number[];
  return known.length === 0 ? undefined : { least: Math.min(...known), most: Math.max(...known) };
}
