/** Tests run from the TypeScript sources; programs they start run from dist/, built just before. */
module.exports = {
  testMatch: ['<rootDir>/test/**/*.test.ts'],
  testPathIgnorePatterns: ['/node_modules/', '/dist/'],
  modulePathIgnorePatterns: ['<rootDir>/dist/'],
  transform: {
    '^.+\\.ts$': [
      '@swc/jest',
      { jsc: { parser: { syntax: 'typescript' }, target: 'es2022' }, module: { type: 'commonjs' } },
    ],
  },
  globalSetup: '<rootDir>/test/setup.ts',
  globalTeardown: '<rootDir>/test/teardown.ts',
  testTimeout: 60_000,
  testSequencer: '<rootDir>/test/sequencer.js',
  // One more than CI has cores: tests of the whole product mostly wait for its processes.
  maxWorkers: 3,
};
