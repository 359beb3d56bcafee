/**
 * Builds the package `provec` as for publication, installs it into its own folder, and runs its
 * pytest suite against a running service and its verifier through the verifiers' battery.
 */
import { execFile } from 'node:child_process';
import { cp, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { nodeBattery } from '../proofs/node-battery.ts';
import { askPackage } from '../proofs/python.ts';
import { verifierBattery } from '../proofs/verifier-battery.ts';
import { shareService } from '../support/shared-service.ts';
import { ADMIN_TOKEN } from '../support/tenant.ts';

const PACKAGE = join(import.meta.dirname, '../../python');
const TOOLS = ['build==1.3.0', 'mypy==1.19.0', 'numpy', 'pytest==9.0.1', 'ruff==0.17.6'];
const PATIENCE = { timeout: 240_000, maxBuffer: 64 * 1024 * 1024 };

const run = promisify(execFile);
let folder: string;
const bin = (name: string) => join(folder, 'venv/bin', name);
const source = () => join(folder, 'source');

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'provec-python-'));
  await cp(PACKAGE, source(), { recursive: true });
  await run('python3', ['-m', 'venv', join(folder, 'venv')], PATIENCE);
  await run(bin('pip'), ['install', '-q', ...TOOLS], PATIENCE);
  await run(bin('python'), ['-m', 'build', source()], PATIENCE);
  const [wheel] = (await readdir(join(source(), 'dist'))).filter((name) => name.endsWith('.whl'));
  await run(bin('pip'), ['install', '-q', join(source(), 'dist', wheel!)], PATIENCE);
});
afterAll(() => rm(folder, { recursive: true, force: true }));

test('its tests pass against a running service', async () => {
  const service = await shareService('anchored');
  const env = {
    ...process.env,
    PROVEC_URL: service.url,
    PROVEC_KEY: service.key,
    PROVEC_ADMIN_TOKEN: ADMIN_TOKEN,
    PROVEC_RPC_URL: service.ledger!.url,
    PROVEC_AUTHORITY: service.ledger!.authority,
  };
  const tested = run(bin('pytest'), ['-q', '-p', 'no:cacheprovider'], { ...PATIENCE, cwd: source(), env });
  const { stdout } = await tested.catch((error: { stdout: string }) => error);
  expect(stdout).toMatch(/\n\d+ passed in [^\n]+\n$/);
  console.log(stdout.trimEnd().split('\n').at(-1));
});

test('its types pass strict checks, and ruff finds nothing', async () => {
  const { stdout } = await run(bin('mypy'), ['--cache-dir=/dev/null'], { ...PATIENCE, cwd: source() });
  expect(stdout).toMatch(/^Success: no issues found/);
  await run(bin('ruff'), ['format', '--check', '--no-cache', '.'], { cwd: source() });
  await run(bin('ruff'), ['check', '--no-cache', '.'], { cwd: source() });
});

describe('its verifier accepts and refuses the same as client/verify', () => {
  verifierBattery((requests) => askPackage(requests, bin('python')));
  describe('a node of the ledger', () => nodeBattery((requests) => askPackage(requests, bin('python'))));
});
