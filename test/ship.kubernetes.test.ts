/** The manifests in deploy/, as they stand in their files: what they say about each other and about this program. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { CONSUMER_LIMITS } from '../bridge/consume';
import { TIME_LIMITS_MS } from '../commands';
import { readConfig } from '../config';

const DEPLOY = join(__dirname, '..', 'deploy');
type Labels = Record<string, string>;
interface Container {
  args: string[];
  env?: { name: string; value?: string; valueFrom?: { fieldRef: { fieldPath: string } } }[];
  envFrom: { secretRef?: { name: string }; configMapRef?: { name: string } }[];
  ports?: { name: string; containerPort: number }[];
  [probe: `${string}Probe`]: { httpGet: { path: string; port: string } } | undefined;
  resources: { requests: Labels; limits: Labels };
  securityContext: unknown;
}
interface Pod {
  metadata: { labels: Labels };
  spec: {
    containers: Container[];
    terminationGracePeriodSeconds?: number;
    securityContext: unknown;
    automountServiceAccountToken: boolean;
  };
}
interface Manifest {
  kind: string;
  metadata: { name: string };
  data?: Labels;
  spec: {
    selector: { matchLabels: Labels };
    podSelector: { matchLabels: Labels };
    template: Pod;
    scaleTargetRef: { name: string };
    triggers: { type: string; metadata: Labels }[];
    egress: { ports: { port: number }[] }[];
  };
}

const manifests = readdirSync(DEPLOY, { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.yaml') && !file.endsWith('kustomization.yaml'))
  .flatMap((file) => parseAllDocuments(readFileSync(join(DEPLOY, file), 'utf8'), { merge: true }))
  .map((document) => document.toJS() as Manifest);
const kind = (wanted: string) => manifests.filter((manifest) => manifest.kind === wanted);
const settings = kind('ConfigMap')[0]!.data!;
const withPods = [...kind('Deployment'), ...kind('Job')];
const container = ({ spec }: Manifest) => spec.template.spec.containers[0]!;
const covers = (selector: Labels, labels: Labels) =>
  Object.entries(selector).every(([name, value]) => labels[name] === value);

test('bridge, worker and setup are there, each with what it needs', () => {
  expect(withPods.map((manifest) => [manifest.metadata.name, ...container(manifest).args])).toEqual([
    ['inventory-bridge', 'bridge'],
    ['inventory-worker', 'worker'],
    ['inventory-setup', 'setup'],
  ]);
  const secrets = (name: string) =>
    container(withPods.find(({ metadata }) => metadata.name === name)!).envFrom.flatMap(
      (from) => from.secretRef?.name ?? [],
    );
  // Each process has only the credentials of the servers that it talks to.
  expect(secrets('inventory-bridge')).toEqual(['inventory-kafka', 'inventory-temporal']);
  expect(secrets('inventory-worker')).toEqual(['inventory-mongodb', 'inventory-temporal']);
  expect(kind('Secret')).toEqual([]);
});

test('a pod is given more time to end than anything in it takes', () => {
  const bridgeMs = CONSUMER_LIMITS.drainMs;
  const workerMs = TIME_LIMITS_MS.shutdownGrace + TIME_LIMITS_MS.activityStartToClose;
  for (const { spec } of kind('Deployment'))
    expect(spec.template.spec.terminationGracePeriodSeconds! * 1_000).toBeGreaterThan(bridgeMs + workerMs);
});

test('every variable is one that the program reads, with a value that it takes', () => {
  const env = Object.assign(
    {},
    settings,
    ...withPods.flatMap((manifest) =>
      (container(manifest).env ?? []).map(({ name, value }) => ({ [name]: value ?? 'x' })),
    ),
  ) as Labels;
  const config = readConfig(env);
  const temporals = ['TEMPORAL_ADDRESS', 'TEMPORAL_NAMESPACE'];
  for (const name of Object.keys(env)) expect([...Object.keys(config), ...temporals]).toContain(name);
  expect(config.temporal).toMatchObject({ namespace: settings['TEMPORAL_NAMESPACE'] });
});

test('selectors find their pods, and every pod stands under a network policy', () => {
  const pods = withPods.map(({ spec }) => spec.template.metadata.labels);
  const selectors = [
    ...[...kind('Deployment'), ...kind('PodDisruptionBudget')].map(({ spec }) => spec.selector.matchLabels),
    ...kind('NetworkPolicy').map(({ spec }) => spec.podSelector.matchLabels),
  ];
  for (const selector of selectors) expect(pods.filter((labels) => covers(selector, labels))).toHaveLength(1);
  const policies = kind('NetworkPolicy').map(({ spec }) => spec.podSelector.matchLabels);
  for (const labels of pods) expect(policies.filter((selector) => covers(selector, labels))).toHaveLength(1);
});

test('probes ask the port that the program listens on; the build ID is the version label', () => {
  const dockerfile = readFileSync(join(DEPLOY, '..', 'Dockerfile'), 'utf8');
  const port = Number(/HTTP_PORT=(\d+)/.exec(dockerfile)![1]);
  for (const manifest of kind('Deployment')) {
    const { ports, startupProbe, livenessProbe, readinessProbe, env } = container(manifest);
    expect(ports).toEqual([{ name: 'http', containerPort: port }]);
    const asked = [startupProbe, livenessProbe, readinessProbe].map((probe) => probe!.httpGet);
    expect(asked).toEqual(['/healthz', '/healthz', '/readyz'].map((path) => ({ path, port: 'http' })));
    const path = env?.find(({ name }) => name === 'TEMPORAL_WORKER_BUILD_ID')?.valueFrom?.fieldRef.fieldPath;
    const label = path && /\['(.*)'\]/.exec(path)?.[1];
    if (label) expect(Object.keys(manifest.spec.template.metadata.labels)).toContain(label);
  }
});

test('pods have no rights that they do not need, and say what they use', () => {
  for (const manifest of withPods) {
    const { spec } = manifest.spec.template;
    expect(spec.securityContext).toMatchObject({
      runAsNonRoot: true,
      seccompProfile: { type: 'RuntimeDefault' },
    });
    expect(spec.automountServiceAccountToken).toBe(false);
    expect(container(manifest).securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    });
    expect(Object.keys(container(manifest).resources.requests)).toEqual(['cpu', 'memory']);
    expect(Object.keys(container(manifest).resources.limits)).toEqual(['memory']);
  }
});

test('scaling follows the settings: the same group, task queue, namespace and deployment', () => {
  const [bridge, worker] = kind('ScaledObject').map(
    ({ spec }) => [spec.scaleTargetRef.name, spec.triggers[0]!] as const,
  );
  expect(bridge![1].metadata).toMatchObject({
    bootstrapServers: settings['KAFKA_BROKERS'],
    consumerGroup: settings['KAFKA_GROUP_ID'],
  });
  const deployment = kind('Deployment').find(({ metadata }) => metadata.name === worker![0])!;
  expect(worker![1].metadata).toMatchObject({
    endpoint: settings['TEMPORAL_ADDRESS'],
    namespace: settings['TEMPORAL_NAMESPACE'],
    taskQueue: settings['TEMPORAL_TASK_QUEUE'],
    workerDeploymentName: container(deployment).env!.find(({ name }) => name === 'TEMPORAL_DEPLOYMENT_NAME')!
      .value,
  });
  expect(kind('Deployment').map(({ metadata }) => metadata.name)).toContain(bridge![0]);
});
