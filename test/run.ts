/** `npm test`: runs jest with the given arguments and ends with one line that says how it went. */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

interface Results {
  numPassedTests: number;
  numFailedTests: number;
  /** Files that could not even be loaded: none of their tests is counted. */
  numRuntimeErrorTestSuites: number;
}

/** Passed and failed tests as jest wrote them; a run that wrote nothing, as when a server is missing, has failed. */
export function tally(json: string | undefined): { passed: number; failed: number } {
  if (json === undefined) return { passed: 0, failed: 1 };
  const results = JSON.parse(json) as Results;
  return {
    passed: results.numPassedTests,
    failed: results.numFailedTests + results.numRuntimeErrorTestSuites,
  };
}

function main(args: string[]): number {
  const folder = mkdtempSync(join(tmpdir(), 'inventory-results-'));
  const file = join(folder, 'results.json');
  const jest = [require.resolve('jest/bin/jest'), '--json', `--outputFile=${file}`, ...args];
  const { status } = spawnSync(process.execPath, jest, { stdio: ['inherit', 2, 'inherit'] });
  const { passed, failed } = tally(existsSync(file) ? readFileSync(file, 'utf8') : undefined);
  rmSync(folder, { recursive: true });
  console.log(`${passed} passed, ${failed} failed`);
  return status === 0 && failed === 0 && passed > 0 ? 0 : 1;
}

if (require.main === module) process.exitCode = main(process.argv.slice(2));
