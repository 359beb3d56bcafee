import { INTERNAL_LIMITS } from '../../lib/limits.ts';
import { type Container, type PodSpec, quantity, type Workload } from './manifest.ts';

/** Time between the process's own shutdown limit and SIGKILL. */
const MARGIN_SECONDS = 5;

/** Rules for every pod that a workload's pods break, in words; empty when there are none. */
export function breachesOf({ metadata, spec }: Workload): string[] {
  const pod = spec.template.spec;
  const claims = spec.volumeClaimTemplates?.map((claim) => claim.metadata.name) ?? [];
  const found = [...podBreaches(pod)];
  for (const container of [...(pod.initContainers ?? []), ...pod.containers]) {
    found.push(...containerBreaches(container, pod, claims));
    if (container.name === 'provec') found.push(...nodeBreaches(container, pod));
  }
  return found.map((breach) => `${metadata.name}: ${breach}`);
}

function* podBreaches(pod: PodSpec): Iterable<string> {
  const security = pod.securityContext ?? {};
  if (pod.enableServiceLinks !== false) yield 'service links';
  if (pod.automountServiceAccountToken !== false) yield 'a service account token';
  if (pod.serviceAccountName !== 'provec') yield 'not the service account without rights';
  if (security.runAsNonRoot !== true || !security.runAsUser || !security.runAsGroup) yield 'may run as root';
  if (security.seccompProfile?.type !== 'RuntimeDefault') yield 'no seccomp profile';
}

function* containerBreaches(container: Container, pod: PodSpec, claims: readonly string[]): Iterable<string> {
  const { securityContext: security = {}, resources = {}, volumeMounts = [] } = container;
  if (security.readOnlyRootFilesystem !== true) yield 'a root file system that can be written';
  if (security.allowPrivilegeEscalation !== false || security.privileged) yield 'more privileges to be had';
  if (security.capabilities?.add || security.capabilities?.drop?.join() !== 'ALL') yield 'capabilities';
  for (const name of ['cpu', 'memory']) if (!resources.requests?.[name]) yield `no request for ${name}`;
  if (!resources.limits?.memory) yield 'no limit of memory';
  if (resources.limits?.cpu) yield 'a limit of CPU, which throttles heartbeats and leases';
  if (!container.readinessProbe || !container.livenessProbe) yield 'no probe';
  const volumes = [...(pod.volumes ?? []).map(({ name }) => name), ...claims];
  for (const { name } of volumeMounts) if (!volumes.includes(name)) yield `no volume ${name}`;
  const temporary = pod.volumes?.find(
    ({ name }) => name === volumeMounts.find(({ mountPath }) => mountPath === '/tmp')?.name,
  );
  if (!temporary?.emptyDir?.sizeLimit) yield 'no bounded /tmp';
}

/** Rules for Provec's pods only. */
function* nodeBreaches(container: Container, pod: PodSpec): Iterable<string> {
  const ports = container.ports?.map(({ name }) => name) ?? [];
  for (const kind of ['startupProbe', 'livenessProbe', 'readinessProbe'] as const) {
    const http = container[kind]?.httpGet;
    if (!http) yield `no ${kind} over HTTP`;
    else if (!ports.includes(http.port)) yield `${kind} asks a port ${http.port} that the container does not name`;
  }
  const stopSeconds =
    (container.lifecycle?.preStop?.sleep?.seconds ?? 0) + INTERNAL_LIMITS.shutdownMaxMs / 1_000 + MARGIN_SECONDS;
  if ((pod.terminationGracePeriodSeconds ?? 30) < stopSeconds)
    yield `is killed before the ${stopSeconds} s that a stop may take`;
  const { requests = {}, limits = {} } = container.resources ?? {};
  if (quantity(limits.memory) < memoryNeeded(container)) yield 'less memory than its own bounds allow it to take';
  const data = pod.volumes?.find(({ name }) => name === 'data');
  if (data?.emptyDir) {
    const bytes = quantity(data.emptyDir.sizeLimit);
    if (quantity(limits['ephemeral-storage']) < bytes) yield 'a limit of storage below that of its volume';
    if (container.args?.includes('services/shards') && bytes < 2 * quantity(limits.memory))
      yield 'too little room for checkpoints';
  }
  if (quantity(requests.memory) > quantity(limits.memory)) yield 'asks for more memory than it may have';
}

const HEAP_BYTES = 512 * 2 ** 20;

function memoryNeeded({ args }: Container): number {
  const { answersMaxBytes, bodiesInFlightMaxBytes } = INTERNAL_LIMITS;
  return args?.includes('services/gateway') ? answersMaxBytes + bodiesInFlightMaxBytes + HEAP_BYTES : HEAP_BYTES;
}
