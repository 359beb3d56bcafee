import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { readConfig } from '../../process/config.ts';
import { instructedSecrets } from './instructed-secrets.ts';
import { type Labels, type Manifest, nodesOf, parseManifests, ROOT, workloadsOf } from './manifest.ts';
import { environmentOf } from './node-environment.ts';
import { breachesOf } from './pod-rules.ts';

interface Autoscaler {
  scaleTargetRef: { kind: string; name: string };
  minReplicas: number;
}

/** The oldest version that k8s/README.md promises, and the newest with published schemas. */
const KUBERNETES_VERSIONS = ['1.30', '1.37'];
const FOLDERS = ['base', ...readdirSync(join(ROOT, 'k8s/overlays')).map((name) => `overlays/${name}`)];

/** Sections of k8s/README.md; the base is for both overlays. */
const INSTRUCTIONS: Record<string, string[]> = {
  'overlays/laptop': ['On a laptop'],
  'overlays/production': ['In production'],
};

function run(command: string, args: string[], input?: string): string {
  const { status, stdout, stderr, error } = spawnSync(command, args, { cwd: ROOT, input, encoding: 'utf8' });
  if (error) throw error;
  if (status !== 0) throw new Error(`${command} ${args.join(' ')}: ${stdout}${stderr}`);
  return stdout;
}

function render(folder: string): string {
  const path = join('k8s', folder);
  const hasKustomize = spawnSync('kustomize', ['version']).status === 0;
  return hasKustomize ? run('kustomize', ['build', path]) : run('kubectl', ['kustomize', path]);
}

const rendered = new Map(FOLDERS.map((folder) => [folder, render(folder)]));
const manifestsOf = (folder: string): Manifest[] => parseManifests(rendered.get(folder)!);

const selects = (selector: Labels | undefined, labels: Labels): boolean =>
  Object.entries(selector ?? {}).every(([name, value]) => labels[name] === value);

describe.each(FOLDERS)('%s', (folder) => {
  const manifests = manifestsOf(folder);
  const workloads = workloadsOf(manifests);
  const named = (kind: string) => manifests.filter((manifest) => manifest.kind === kind);
  const names = (kind: string) => named(kind).map(({ metadata }) => metadata.name);

  test.each(KUBERNETES_VERSIONS)('is valid in Kubernetes %s', (version) => {
    run('kubernetes-validate', ['--strict', '--quiet', '--kubernetes-version', version, '-'], rendered.get(folder));
  });

  test('gives each pod what the start accepts, and runs it without privileges', () => {
    expect(nodesOf(manifests)).toHaveLength(3);
    for (const { container } of nodesOf(manifests)) readConfig(environmentOf(container, manifests));
    expect(workloads.flatMap(breachesOf)).toEqual([]);
    expect(new Set(nodesOf(manifests).map(({ container }) => container.image)).size).toBe(1);
  });

  test('has no selector that matches nothing, and no two workloads that match each other', () => {
    const labels = workloads.map(({ spec }) => spec.template.metadata.labels);
    const matched = (selector: Labels | undefined) => labels.filter((each) => selects(selector, each)).length;
    for (const { spec } of workloads) expect(matched(spec.selector.matchLabels)).toBe(1);
    for (const { spec } of named('Service')) expect(matched(spec!.selector as Labels)).toBe(1);
    for (const { spec } of named('PodDisruptionBudget')) {
      expect(matched((spec as { selector: { matchLabels: Labels } }).selector.matchLabels)).toBe(1);
    }
    for (const { spec } of named('NetworkPolicy')) {
      expect(matched((spec as { podSelector: { matchLabels?: Labels } }).podSelector.matchLabels)).toBeGreaterThan(0);
    }
  });

  test('has services whose ports the pods name', () => {
    for (const service of named('Service')) {
      const spec = service.spec as { selector: Labels; ports: { targetPort: string }[] };
      const pod = workloads.find(({ spec: each }) => selects(spec.selector, each.template.metadata.labels))!;
      const ports = pod.spec.template.spec.containers.flatMap((container) => container.ports ?? []);
      for (const { targetPort } of spec.ports) expect(ports.map(({ name }) => name)).toContain(targetPort);
    }
    for (const { spec } of workloads) if (spec.serviceName) expect(names('Service')).toContain(spec.serviceName);
  });

  test('leaves the number of pods to the autoscaler or states it', () => {
    const targets = named('HorizontalPodAutoscaler').map(({ spec }) => (spec as unknown as Autoscaler).scaleTargetRef);
    for (const { kind, metadata, spec } of workloads) {
      const isScaled = targets.some((target) => target.kind === kind && target.name === metadata.name);
      expect({ name: metadata.name, says: spec.replicas !== undefined }).toEqual({
        name: metadata.name,
        says: !isScaled,
      });
    }
    for (const { name } of targets) expect(workloads.map(({ metadata }) => metadata.name)).toContain(name);
  });

  test('denies all traffic that it does not allow', () => {
    expect(named('NetworkPolicy')).toContainEqual(
      expect.objectContaining({ spec: { podSelector: {}, policyTypes: ['Ingress', 'Egress'] } }),
    );
  });

  test('refers to secrets that the instructions create', () => {
    const asked = workloads.flatMap(({ spec }) => {
      const { containers, volumes = [] } = spec.template.spec;
      const references = containers.flatMap(({ env = [] }) =>
        env.flatMap(({ valueFrom }) => valueFrom?.secretKeyRef ?? []),
      );
      return [
        ...references.filter(({ optional }) => !optional),
        ...volumes.flatMap(({ secret }) => secret?.items.map(({ key }) => ({ name: secret.secretName, key })) ?? []),
      ];
    });
    expect(names('Secret')).toEqual([]);
    for (const section of INSTRUCTIONS[folder] ?? Object.values(INSTRUCTIONS).flat()) {
      const secrets = instructedSecrets(section);
      for (const { name, key } of asked) expect(Object.keys(secrets.get(name) ?? {})).toContain(key);
    }
  });
});

test('an overlay is in a namespace that refuses privileged pods', () => {
  for (const folder of FOLDERS.slice(1)) {
    const manifests = manifestsOf(folder);
    const namespace = manifests.find(({ kind }) => kind === 'Namespace')!;
    expect(namespace.metadata.labels).toMatchObject({ 'pod-security.kubernetes.io/enforce': 'restricted' });
    for (const { kind, metadata } of manifests)
      if (kind !== 'Namespace') expect(metadata.namespace).toBe(namespace.metadata.name);
  }
});

test('production has at least three of each node', () => {
  const manifests = manifestsOf('overlays/production');
  const least = new Map(workloadsOf(manifests).map(({ metadata, spec }) => [metadata.name, spec.replicas ?? 0]));
  for (const { kind, spec } of manifests) {
    if (kind !== 'HorizontalPodAutoscaler') continue;
    const { scaleTargetRef, minReplicas } = spec as unknown as Autoscaler;
    least.set(scaleTargetRef.name, minReplicas);
  }
  expect([...least.keys()].sort()).toEqual(['provec-control', 'provec-gateway', 'provec-shards']);
  expect(Math.min(...least.values())).toBeGreaterThanOrEqual(3);
});

test('hadolint finds no fault in the Dockerfile', () => {
  run('hadolint', ['Dockerfile']);
});
