/**
 * Pinecone's own clients against Provec, version by version: each is installed into a folder of its
 * own, and never a dependency of the project.
 */
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type ServiceProcess, startProcess } from '../support/service-process.ts';
import { TEST_KEY } from '../support/tenant.ts';
import { until } from '../support/until.ts';

const NODE_VERSIONS = ['5.1.2', '6.1.4', '7.2.0', '8.2.0', '9.0.0'];
const PYTHON_VERSIONS = ['7.3.0', '8.1.2', '9.1.0', '10.2.0'];
const INSTALL_TIMEOUT_MS = 240_000;
const PART_TIMEOUT_MS = 120_000;

const run = promisify(execFile);
const scenario = (name: string) => fileURLToPath(new URL(name, import.meta.url));

let folder: string;
let service: ServiceProcess;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'provec-clients-'));
  service = await startProcess();
});
afterAll(async () => {
  await service.dispose();
  await rm(folder, { recursive: true, force: true });
});

/** Runs a part of a scenario, and gives the names of its steps. */
type Scenario = (part: 'write' | 'read' | 'end') => Promise<string[]>;

async function nodeClient(version: string): Promise<Scenario> {
  const home = join(folder, `node-${version}`);
  await mkdir(home);
  await writeFile(join(home, 'package.json'), '{}');
  const install = ['install', '--no-audit', '--no-fund', `@pinecone-database/pinecone@${version}`];
  await run('npm', install, { cwd: home, timeout: INSTALL_TIMEOUT_MS });
  return async (part) => {
    const args = [scenario('node-scenario.ts'), home, version.split('.')[0]!, service.url, TEST_KEY, part];
    return linesOf(await run(process.execPath, args, { timeout: PART_TIMEOUT_MS }));
  };
}

async function pythonClient(version: string): Promise<Scenario> {
  const home = join(folder, `python-${version}`);
  await run('python3', ['-m', 'venv', home], { timeout: INSTALL_TIMEOUT_MS });
  await run(join(home, 'bin', 'pip'), ['install', '-q', `pinecone==${version}`], { timeout: INSTALL_TIMEOUT_MS });
  return async (part) => {
    const args = [scenario('scenario.py'), version.split('.')[0]!, service.url, TEST_KEY, part];
    return linesOf(await run(join(home, 'bin', 'python'), args, { timeout: PART_TIMEOUT_MS }));
  };
}

const linesOf = ({ stdout }: { stdout: string }) => stdout.trim().split('\n');

const STEPS = 9;
describe.each([
  ...NODE_VERSIONS.map((version) => ['Node', version, nodeClient] as const),
  ...PYTHON_VERSIONS.map((version) => ['Python', version, pythonClient] as const),
])('%s %s', (language, version, install) => {
  const name = `${language.toLowerCase()}-${version.split('.')[0]}`;
  let client: Scenario;
  beforeAll(async () => {
    client = await install(version);
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
});

/** The newest on PyPI; the one for JavaScript is on no registry. */
test('the SDK of the earlier service for Python, solvec 0.1.0a10', async () => {
  const home = join(folder, 'solvec');
  await run('python3', ['-m', 'venv', home], { timeout: INSTALL_TIMEOUT_MS });
  const install = ['install', '-q', 'solvec==0.1.0a10', 'httpx'];
  await run(join(home, 'bin', 'pip'), install, { timeout: INSTALL_TIMEOUT_MS });
  const args = [scenario('earlier-scenario.py'), service.url, TEST_KEY];
  expect(linesOf(await run(join(home, 'bin', 'python'), args, { timeout: PART_TIMEOUT_MS }))).toEqual(['all']);
});
