/** What a network does: connections break, answers are lost, everything is slow. */
import { setTimeout as sleep } from 'node:timers/promises';
import { atLeast, type Fault } from './fault';

const CUTS = 8;
const CUT_EVERY_MS = 1_000;
const LOSING_MS = 8_000;
const SWALLOWING_MS = 8_000;
const SLOW_MS = 15_000;
/** A disk that needs this long for each answer: a posting of a dozen answers takes some seconds. */
const SLOW_BY_MS = 250;

type Name = 'kafka' | 'mongo' | 'temporal';

function cut(name: Name): Fault {
  return {
    name: `cut-${name}`,
    does: `every connection to ${name} broken, ${CUTS} times, one second apart`,
    inject: async (lab) => {
      const proxy = lab.proxies[name];
      const before = proxy.counts.cut;
      for (let i = 0; i < CUTS; i++) {
        proxy.cut();
        await sleep(CUT_EVERY_MS);
      }
      return { bitten: () => atLeast(CUTS, proxy.counts.cut - before, 'connections broken') };
    },
  };
}

/** The request is carried out, its answer never comes: the caller cannot know. */
const loseCommits: Fault = {
  name: 'lose-commit-answers',
  does: `for ${LOSING_MS / 1000} s every transaction's commit is carried out and its answer lost`,
  inject: async (lab) => {
    const proxy = lab.proxies.mongo;
    const before = proxy.counts.answersLost;
    proxy.rule = { loseAnswerTo: 'commitTransaction' };
    await sleep(LOSING_MS);
    return {
      heal: () => Promise.resolve(proxy.heal()),
      bitten: () => atLeast(1, proxy.counts.answersLost - before, 'answers to commits lost'),
    };
  },
};

function swallow(name: 'kafka' | 'temporal'): Fault {
  return {
    name: `lose-${name}-answers`,
    does: `for ${SWALLOWING_MS / 1000} s every answer of ${name} is lost, then the connections break`,
    inject: async (lab) => {
      const proxy = lab.proxies[name];
      const before = proxy.counts.swallowedBytes;
      proxy.rule = { swallow: true };
      await sleep(SWALLOWING_MS);
      return {
        // A connection that has lost bytes is of no use to anybody.
        heal: () => Promise.resolve((proxy.heal(), proxy.cut())),
        bitten: () => atLeast(1, proxy.counts.swallowedBytes - before, 'bytes of answers lost'),
      };
    },
  };
}

const slow: Fault = {
  name: 'slow-mongo',
  does: `every answer of MongoDB ${SLOW_BY_MS} ms later for ${SLOW_MS / 1000} s, as on a slow disk`,
  inject: async (lab) => {
    const proxy = lab.proxies.mongo;
    const before = proxy.counts.delayed;
    proxy.rule = { delayMs: SLOW_BY_MS };
    await sleep(SLOW_MS);
    return {
      heal: () => Promise.resolve(proxy.heal()),
      bitten: () => atLeast(10, proxy.counts.delayed - before, 'answers delayed'),
    };
  },
};

export const NETWORK_FAULTS: Fault[] = [
  cut('mongo'),
  cut('kafka'),
  cut('temporal'),
  loseCommits,
  swallow('kafka'),
  swallow('temporal'),
  slow,
];
