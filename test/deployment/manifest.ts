import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parse, parseAllDocuments } from 'yaml';

export const ROOT = resolve(import.meta.dirname, '../..');

interface Probe {
  httpGet?: { path: string; port: string };
  exec?: { command: string[] };
}

interface Reference {
  name: string;
  key: string;
  optional?: boolean;
}

interface EnvironmentVariable {
  name: string;
  value?: string;
  valueFrom?: {
    secretKeyRef?: Reference;
    fieldRef?: { fieldPath: string };
    resourceFieldRef?: { containerName: string; resource: string; divisor: string };
  };
}

export interface Container {
  name: string;
  image: string;
  command?: string[];
  args?: string[];
  env?: EnvironmentVariable[];
  envFrom?: { configMapRef?: { name: string }; secretRef?: { name: string } }[];
  ports?: { name: string; containerPort: number }[];
  startupProbe?: Probe;
  livenessProbe?: Probe;
  readinessProbe?: Probe;
  lifecycle?: { preStop?: { sleep?: { seconds: number } } };
  resources?: { requests?: Record<string, string>; limits?: Record<string, string> };
  securityContext?: {
    allowPrivilegeEscalation?: boolean;
    readOnlyRootFilesystem?: boolean;
    privileged?: boolean;
    capabilities?: { add?: string[]; drop?: string[] };
  };
  volumeMounts?: { name: string; mountPath: string; readOnly?: boolean }[];
}

interface Volume {
  name: string;
  emptyDir?: { sizeLimit?: string };
  persistentVolumeClaim?: { claimName: string };
  secret?: { secretName: string; items: { key: string; path: string }[] };
}

export interface PodSpec {
  serviceAccountName?: string;
  automountServiceAccountToken?: boolean;
  enableServiceLinks?: boolean;
  terminationGracePeriodSeconds?: number;
  securityContext?: {
    runAsNonRoot?: boolean;
    runAsUser?: number;
    runAsGroup?: number;
    seccompProfile?: { type: string };
  };
  containers: Container[];
  initContainers?: Container[];
  volumes?: Volume[];
}

export type Labels = Record<string, string>;

/** The fields of a Kubernetes object that tests read. */
export interface Manifest {
  kind: string;
  metadata: { name: string; namespace?: string; labels?: Labels };
  data?: Record<string, string>;
  spec?: Record<string, unknown>;
}

/** A Deployment or StatefulSet. */
export interface Workload extends Manifest {
  spec: {
    replicas?: number;
    serviceName?: string;
    selector: { matchLabels: Labels };
    template: { metadata: { labels: Labels; annotations?: Record<string, string> }; spec: PodSpec };
    volumeClaimTemplates?: { metadata: { name: string } }[];
  };
}

export function readText(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8');
}

/** Reads one YAML document with merge keys, such as a compose file or a kustomization. */
export function readYaml<T>(path: string): T {
  return parse(readText(path), { merge: true }) as T;
}

/** Parses every object of a YAML stream. Throws when a document is malformed. */
export function parseManifests(text: string): Manifest[] {
  return parseAllDocuments(text).map((document) => {
    if (document.errors.length > 0) throw document.errors[0];
    return document.toJS() as Manifest;
  });
}

export function workloadsOf(manifests: readonly Manifest[]): Workload[] {
  return manifests.filter(({ kind }) => kind === 'Deployment' || kind === 'StatefulSet') as Workload[];
}

/** Containers that run this project's image. */
export function nodesOf(manifests: readonly Manifest[]): { workload: Workload; container: Container }[] {
  return workloadsOf(manifests).flatMap((workload) =>
    workload.spec.template.spec.containers
      .filter(({ name }) => name === 'provec')
      .map((container) => ({ workload, container })),
  );
}

const UNITS: Record<string, number> = { '': 1, m: 1e-3, Ki: 2 ** 10, Mi: 2 ** 20, Gi: 2 ** 30 };

/**
 * A Kubernetes quantity, such as `500m` or `2Gi`, as a number. Throws on units that these manifests
 * do not use.
 */
export function quantity(text: string | undefined): number {
  const [, digits, unit] = /^(\d+)(|m|Ki|Mi|Gi)$/.exec(text ?? '') ?? [];
  if (digits === undefined) throw new Error(`${text} is no quantity`);
  return Number(digits) * UNITS[unit];
}
