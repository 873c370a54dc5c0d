/** The longest files first, so that none of them runs alone at the end while the other workers have nothing to do. */
// eslint-disable-next-line @typescript-eslint/no-require-imports -- jest loads this file as it is
const { default: Sequencer } = require('@jest/test-sequencer');

const LONGEST = [
  'chaos',
  'parked.system',
  'system',
  'upgrade',
  'acceptGap',
  'deadLetters',
  'replay',
  'trace',
  'adjust',
  'audit.topic',
  'codec.system',
];

module.exports = class extends Sequencer {
  sort(tests) {
    const place = ({ path }) => {
      const found = LONGEST.findIndex((name) => path.endsWith(`/${name}.test.ts`));
      return found === -1 ? LONGEST.length : found;
    };
    return [...tests].sort((a, b) => place(a) - place(b) || (a.path < b.path ? -1 : 1));
  }
};
