/**
 * Builds the one file of workflow code that workers run, at build time: what was tested is what is deployed, and
 * an import that does not belong in a workflow fails here instead of at the first replay.
 */
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { bundleWorkflowCode, type WorkflowBundleWithSourceMap } from '@temporalio/worker';

/** Traced workflows have a bundle of their own: where nothing is traced, no workflow pays for it. */
export function bundleFile(traced: boolean): string {
  return path.join(__dirname, traced ? 'workflow-bundle.traced.js' : 'workflow-bundle.js');
}
const MAX_BYTES = 4_000_000;

/**
 * @param options.workflowsPath folder of the workflow types
 * @param options.traced with what makes spans of workflows and of the activities they call
 * @throws Error on any warning of the bundler, and when the bundle is suspiciously large
 */
export async function buildWorkflowBundle({
  workflowsPath = path.join(__dirname, 'workflows'),
  traced = false,
} = {}): Promise<WorkflowBundleWithSourceMap> {
  const complaints: string[] = [];
  const bundle = await bundleWorkflowCode({
    workflowsPath,
    // Evaluated once per process instead of once per workflow. What a module keeps would be shared by all workflows, so
    // eslint refuses variables and collections at the top of workflow files.
    preloadModules: [workflowsPath],
    workflowInterceptorModules: traced
      ? [require.resolve('@temporalio/interceptors-opentelemetry/lib/workflow-interceptors')]
      : [],
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
  for (const traced of [false, true]) {
    const { code } = await buildWorkflowBundle({ traced });
    await mkdir(path.dirname(bundleFile(traced)), { recursive: true });
    await writeFile(bundleFile(traced), code);
  }
}

if (require.main === module) {
  main().catch((error: unknown) => {
    process.stderr.write(`${String(error instanceof Error ? error.message : error)}\n`);
    process.exitCode = 1;
  });
}
