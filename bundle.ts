/**
 * Builds the one file of workflow code that workers run, at build time: what was tested is what is deployed, and
 * an import that does not belong in a workflow fails here instead of at the first replay.
 */
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { bundleWorkflowCode, type WorkflowBundleWithSourceMap } from '@temporalio/worker';

export const BUNDLE_FILE = path.join(__dirname, 'workflow-bundle.js');
const MAX_BYTES = 4_000_000;

/**
 * @param workflowsPath folder of the workflow types
 * @throws Error on any warning of the bundler, and when the bundle is suspiciously large
 */
export async function buildWorkflowBundle(
  workflowsPath = path.join(__dirname, 'workflows'),
): Promise<WorkflowBundleWithSourceMap> {
  const complaints: string[] = [];
  const bundle = await bundleWorkflowCode({
    workflowsPath,
    logger: {
      log: (level, message) =>
        void (level === 'WARN' || level === 'ERROR' ? complaints.push(message) : undefined),
      trace: () => undefined,
      debug: () => undefined,
      info: () => undefined,
      warn: (message) => void complaints.push(message),
      error: (message) => void complaints.push(message),
    },
  });
  if (complaints.length > 0) throw new Error(`the workflow bundle has warnings:\n${complaints.join('\n')}`);
  if (bundle.code.length > MAX_BYTES) {
    throw new Error(
      `the workflow bundle has ${bundle.code.length} bytes: something that does not belong there came in`,
    );
  }
  return bundle;
}

async function main(): Promise<void> {
  const { code } = await buildWorkflowBundle();
  await mkdir(path.dirname(BUNDLE_FILE), { recursive: true });
  await writeFile(BUNDLE_FILE, code);
}

if (require.main === module) {
  main().catch((error: unknown) => {
    process.stderr.write(`${String(error instanceof Error ? error.message : error)}\n`);
    process.exitCode = 1;
  });
}
