/** The file between `audit --plan` and `adjust --plan`: read by a person in between, who may take items out. */
import { z } from 'zod';
import { PLAN_MAX_BYTES, readFile } from '../files';
import { UsageError } from './context';

const sequence = z.int().min(1);
const plan = z.object({
  inventoryPlan: z.literal(1),
  items: z.array(
    z.object({
      /** Reference ID of the adjustment: made of the finding, so that a plan posted twice repairs once. */
      id: z.string().min(1).max(100),
      stockId: z.string().min(1),
      /** What the ledger is to account for; the stock itself stays as it is. */
      delta: z.string().regex(/^-?\d{1,24}(\.\d{1,10})?$/),
      repairs: z.object({ sequence, missingFrom: sequence.optional() }),
      reason: z.string(),
    }),
  ),
});

export type Plan = z.output<typeof plan>;

/** @throws UsageError when the file is no plan */
export function readPlan(file: string) {
  let json: unknown;
  try {
    json = JSON.parse(readFile(file, PLAN_MAX_BYTES).toString());
  } catch (error) {
    throw new UsageError(`--plan ${file}: ${(error as Error).message}`);
  }
  const parsed = plan.safeParse(json);
  if (parsed.success) {
    return parsed.data.items.map(({ repairs: { sequence, missingFrom }, ...item }) => ({
      ...item,
      repairs: { sequence, ...(missingFrom === undefined ? {} : { missingFrom }) },
    }));
  }
  const { path, message } = parsed.error.issues[0]!;
  throw new UsageError(`--plan ${file}: ${path.join('.')} ${message}; write it with audit --plan`);
}
