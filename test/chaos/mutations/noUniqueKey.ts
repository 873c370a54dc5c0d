/** Loaded before the product: the ledger is written and never asked, and no key keeps a second entry out. */
import { randomInt, randomUUID } from 'node:crypto';
import * as checking from '../../../activities/checkTracking';
import * as judging from '../../../activities/judge';
import { replace } from '../replace';

replace(checking, { checkTracking: () => Promise.resolve(null) });

const { judge } = judging;
const unaware: typeof judge = (postings, snapshot, policy, now) => {
  const judgement = judge(postings, { ...snapshot, entries: [] }, policy, now);
  const attempts = new Map<string, number>();
  const entries = judgement.entries.map((entry) => {
    const attempt = attempts.get(entry.referenceId) ?? randomInt(2, 2 ** 40);
    attempts.set(entry.referenceId, attempt);
    return { ...entry, _id: randomUUID(), attempt };
  });
  return { ...judgement, entries };
};
replace(judging, { judge: unaware });
