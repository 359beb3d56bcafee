/**
 * Pinecone's own clients against Provec, version by version: each is installed into a folder of its
 * own, and never a dependency of the project.
 */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type ServiceProcess, startProcess } from '../support/service-process.ts';
import { ADMIN_TOKEN, createTenant, TEST_KEY } from '../support/tenant.ts';
import { until } from '../support/until.ts';
import { type Installed, installFolder, type Scenario } from './installed.ts';

const NODE_VERSIONS = ['5.1.2', '6.1.4', '7.2.0', '8.2.0', '9.0.0'];
const PYTHON_VERSIONS = ['7.3.0', '8.1.2', '9.1.0', '10.2.0'];

let installed: Installed;
let service: ServiceProcess;
beforeAll(async () => {
  installed = await installFolder();
  const plans = JSON.stringify({ free: { vectors: 100, collections: -1 } });
  service = await startProcess({ PROVEC_ADMIN_TOKEN: ADMIN_TOKEN, PROVEC_PLANS: plans });
});
afterAll(async () => {
  await service.dispose();
  await installed.dispose();
});

const STEPS = 9;
describe.each([
  ...NODE_VERSIONS.map((version) => ['Node', version, 'node-scenario.ts'] as const),
  ...PYTHON_VERSIONS.map((version) => ['Python', version, 'scenario.py'] as const),
])('%s %s', (language, version, file) => {
  const major = version.split('.')[0]!;
  const name = `${language.toLowerCase()}-${major}`;
  let scenario: Scenario;
  /** Gives the names of the part's steps. */
  const client = (part: 'write' | 'read' | 'end' | 'full', key = TEST_KEY) =>
    scenario(file, major, service.url, key, part);
  beforeAll(async () => {
    scenario =
      language === 'Node'
        ? await installed.fromNpm(`@pinecone-database/pinecone@${version}`)
        : await installed.fromPypi(`pinecone==${version}`);
  });

  test('makes an index, writes, reads, changes and deletes', async () => {
    expect(await client('write')).toHaveLength(STEPS);
  });

  test('finds everything after a restart, and verify says match', async () => {
    await service.kill('SIGTERM');
    await service.restart();
    expect(await client('read')).toHaveLength(1);
    const verdict = async () => (await service.api('GET', `/collections/${name}/verify`)).body;
    await until('it is anchored', async () => (await verdict()).state !== 'pending');
    expect(await verdict()).toMatchObject({ state: 'match', verified: true });
  });

  test('deletes everything', async () => {
    expect(await client('end')).toHaveLength(1);
  });

  test('says within 20 s that a plan is full', async () => {
    const { key } = await createTenant(service, 'free', name);
    expect(await client('full', key.secret)).toHaveLength(2);
  });
});

/** The newest on PyPI; the one for JavaScript is on no registry. */
test('the SDK of the earlier service for Python, solvec 0.1.0a10', async () => {
  const scenario = await installed.fromPypi('solvec==0.1.0a10', 'httpx');
  expect(await scenario('earlier-scenario.py', service.url, TEST_KEY)).toEqual(['all']);
});
