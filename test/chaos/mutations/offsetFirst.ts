/** Loaded before the product: a start is reported as done before it was even asked for. */
import { setTimeout as sleep } from 'node:timers/promises';
import * as grouping from '../../../bridge/group';
import { replace } from '../replace';

/** As long as a busy Temporal takes. */
const LATER_MS = 300;

const { createGroupingStarter } = grouping;
const hasty: typeof createGroupingStarter = (...args) => {
  const starter = createGroupingStarter(...args);
  return {
    start: (command) => {
      void sleep(LATER_MS)
        .then(() => starter.start(command))
        .catch(() => undefined);
      return Promise.resolve('started');
    },
  };
};
replace(grouping, { createGroupingStarter: hasty });
