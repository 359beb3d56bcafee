import { cpSync, existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { freePorts } from '../support/free-ports.ts';
import { StartedProcess } from '../support/service-process.ts';
import { until } from '../support/until.ts';
import { copiedInto, instructions, packagesOf } from './dockerfile.ts';
import { type Container, nodesOf, parseManifests, ROOT, readText } from './manifest.ts';

/** A folder with the image's files of the project. */
let image: string;

beforeAll(async () => {
  image = await mkdtemp(join(tmpdir(), 'provec-image-'));
  for (const path of copiedInto('server')) cpSync(join(ROOT, path), join(image, path), { recursive: true });
  for (const path of packagesOf('modules')) {
    // The package is for another platform, or was copied with the package that contains it.
    if (!existsSync(join(ROOT, path))) continue;
    cpSync(join(ROOT, path), join(image, path), { recursive: true });
  }
});
afterAll(() => rm(image, { recursive: true, force: true }));

/** The image's entry point, without its init. */
function entrypoint(): string[] {
  const { rest } = instructions().find(({ name }) => name === 'ENTRYPOINT')!;
  const [init, separator, node, ...args] = JSON.parse(rest) as string[];
  expect([init, separator, node]).toEqual(['tini', '--', 'node']);
  return args.map((argument) => (argument.endsWith('.ts') ? join(image, argument) : argument));
}

/** Repeats a request until it is answered; throws when the process has exited. */
function answer(url: string, run: StartedProcess): Promise<Response> {
  return until(`${url} answers`, () => {
    if (run.child.exitCode !== null) throw new Error(`no answer from ${url}: ${run.stderr}`);
    return fetch(url).catch(() => null);
  });
}

/** Starts a container's process alone and returns its ports. */
async function started(
  container: Container,
  use: (run: StartedProcess, origin: (port: string) => string) => Promise<void>,
): Promise<void> {
  const [program, ...first] = [process.execPath, ...entrypoint()];
  const [http, health] = await freePorts(2);
  const ports: Record<string, number> = { http, health };
  const dataDir = await mkdtemp(join(tmpdir(), 'provec-image-data-'));
  const environment = {
    PROVEC_PORT: String(http),
    PROVEC_HEALTH_PORT: String(health),
    PROVEC_DATA_DIR: dataDir,
    PROVEC_LEDGER: 'off',
    PROVEC_WORKERS: '1',
  };
  const run = new StartedProcess(environment, container.args, [program, ...first]);
  try {
    await use(run, (port) => `http://127.0.0.1:${ports[port]}`);
  } finally {
    run.dispose();
    await run.ended;
    await rm(dataDir, { recursive: true, force: true });
  }
}

const containers = ['gateway', 'shards', 'control'].map(
  (name) => [name, nodesOf(parseManifests(readText(`k8s/base/${name}.yaml`)))[0].container] as const,
);

describe.each(containers)('a process of the image that runs the command of %s', (_, container) => {
  test('answers every probe and the metrics, on the ports that the pod names', async () => {
    await started(container, async (run, origin) => {
      for (const probe of [container.startupProbe, container.livenessProbe]) {
        const { path, port } = probe!.httpGet!;
        expect((await answer(origin(port) + path, run)).status).toBe(200);
      }
      const { path, port } = container.readinessProbe!.httpGet!;
      const ready = await answer(origin(port) + path, run);
      // A node alone may lack the others, and reports that.
      expect([200, 503]).toContain(ready.status);
      expect(await ready.json()).toMatchObject({
        status: ready.status === 200 ? 'ready' : expect.stringMatching(/^(starting|unavailable)$/),
      });
      const metrics = await answer(`${origin('health')}/metrics`, run);
      expect(metrics.status).toBe(200);
      expect(await metrics.text()).toMatch(/^provec_/m);
      // A gateway that lacks the other nodes answers with 503.
      for (const { name } of container.ports!) await answer(origin(name), run);
    });
  });
});

test('the image contains what an operator needs to reseal the store', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'provec-image-data-'));
  const environment = { PROVEC_DATA_DIR: dataDir, PROVEC_SECRET: 'a-secret-that-no-store-was-ever-made-under' };
  const run = new StartedProcess(environment, [], [process.execPath, join(image, 'scripts/reseal.ts')]);
  expect(await run.ended).toMatchObject({ code: 1 });
  expect(run.stderr).toContain(`There is no store in ${dataDir}.`);
  await rm(dataDir, { recursive: true, force: true });
});
