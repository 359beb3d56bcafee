/** A page that is open while the service is updated. */
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { startBrowser, type TestBrowser } from '../support/browser.ts';
import { freePorts } from '../support/free-ports.ts';
import { NODE_START, type ServiceProcess, StartedProcess, startProcess } from '../support/service-process.ts';
import { TEST_KEY } from '../support/tenant.ts';
import { ConsoleVisitor } from './console-visitor.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const NOT_COPIED = ['node_modules', '.git', 'test', 'docs', 'python', 'data', 'bench'];
const PAGE = 'services/gateway/console/app/pages/usage/usage-page.ts';
const OLD = 'What this account uses of its plan.';
const NEW = 'What this account has used of its plan.';

let browser: TestBrowser;
let service: ServiceProcess;
let checkout: string;
let port: number;

beforeAll(async () => {
  [port] = await freePorts(1);
  [browser, service] = await Promise.all([startBrowser(), startProcess({ PROVEC_PORT: `${port}` })]);
  checkout = await mkdtemp(join(tmpdir(), 'provec-update-'));
});
afterAll(async () => {
  await browser.dispose();
  await service.dispose();
  await rm(checkout, { recursive: true, force: true });
});

/** A checkout of the next version, which differs in one sentence of the console. */
async function makeNextVersion(): Promise<void> {
  const filter = (path: string) => !NOT_COPIED.includes(relative(ROOT, path).split(sep)[0]);
  await cp(ROOT, checkout, { recursive: true, filter });
  await symlink(join(ROOT, 'node_modules'), join(checkout, 'node_modules'));
  const text = await readFile(join(checkout, PAGE), 'utf8');
  expect(text).toContain(OLD);
  await writeFile(join(checkout, PAGE), text.replace(OLD, NEW));
}

test('loads the new console by itself, at the place where it was', async () => {
  await makeNextVersion();
  const visitor = new ConsoleVisitor(await browser.open(), () => service.url);
  await visitor.signIn(TEST_KEY, { isKept: true });
  await service.kill('SIGTERM');
  const next = new StartedProcess(
    { PROVEC_PORT: `${port}`, PROVEC_DATA_DIR: service.dataDir, PROVEC_WORKERS: '1', PROVEC_DISK_RESERVE_MB: '16' },
    [],
    [...NODE_START.slice(0, -1), join(checkout, 'start.ts')] as unknown as typeof NODE_START,
  );
  try {
    await next.listening();
    await visitor.go('#/usage');
    await visitor.sees(NEW);
    await visitor.go('#/keys');
    await visitor.sees('This session');
    expect(visitor.faults).toEqual([]);
  } finally {
    next.dispose();
    await next.ended;
    await visitor.close();
  }
});
