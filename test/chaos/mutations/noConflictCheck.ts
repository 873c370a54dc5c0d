/** Loaded before the product: a document that the ledger holds otherwise is taken for a new one. */
import * as attempts from '../../../activities/attempts';

const { recordedResult } = attempts;
const mutable = attempts as { recordedResult: typeof recordedResult; conflict: typeof attempts.conflict };
mutable.recordedResult = (...args) => {
  const result = recordedResult(...args);
  return result?.outcome === 'CONFLICT' ? undefined : result;
};
mutable.conflict = () => undefined;
