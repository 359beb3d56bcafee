import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from '@jest/globals';
import { readConfig } from '../../../process/config.ts';
import { type Startup, startupBanner } from '../../../process/startup-banner.ts';

const KEY = 'pv_live_a-key-of-somebody-0000000000000000000000000';
const STARTUP: Startup = {
  url: 'http://127.0.0.1:8080',
  healthUrl: null,
  ledger: {
    enabled: true,
    program: 'Program',
    authority: 'Authority',
    cluster: 'devnet',
    rpc: ['http://127.0.0.1:8899'],
    isEmbedded: true,
  },
  bootstrapSecret: null,
  isBootstrapKeyIgnored: false,
};
const bannerOf = (variables: Record<string, string>, changes: Partial<Startup> = {}) =>
  startupBanner(readConfig(variables), { ...STARTUP, ...changes });

test.each([
  [true, 'Solana, embedded, RPC http://127.0.0.1:8899, authority Authority'],
  [false, 'Solana, http://127.0.0.1:8899, authority Authority'],
])('says where roots are anchored (embedded: %s)', (isEmbedded, said) => {
  expect(bannerOf({}, { ledger: { ...STARTUP.ledger!, isEmbedded } })).toContain(said);
});

test.each([
  ['the first key', {}, { bootstrapSecret: KEY }, `Bearer ${KEY}"`, 'Create a collection:'],
  [
    'a chosen key',
    { PROVEC_BOOTSTRAP_KEY: KEY },
    { bootstrapSecret: KEY },
    'Bearer $PROVEC_BOOTSTRAP_KEY"',
    'as set by',
  ],
  ['a chosen key, later', { PROVEC_BOOTSTRAP_KEY: KEY }, {}, 'Bearer $PROVEC_BOOTSTRAP_KEY"', 'Create a collection:'],
  [
    'no chosen key',
    { PROVEC_BOOTSTRAP_KEY: KEY },
    { isBootstrapKeyIgnored: true },
    'Bearer $PROVEC_KEY"',
    'is ignored',
  ],
  ['later', {}, {}, 'Bearer $PROVEC_KEY"', '(PROVEC_KEY: one of your keys)'],
])('the request to paste has %s', (_, variables, changes, bearer, said) => {
  const banner = bannerOf(variables, changes);
  expect(banner).toContain(bearer);
  expect(banner).toContain(said);
});

test('the request to paste reads a chosen key from its file', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'provec-banner-'));
  const file = join(folder, 'the key');
  await writeFile(file, `${KEY}\n`);
  const banner = bannerOf({ PROVEC_BOOTSTRAP_KEY_FILE: file });
  const [, argument] = /-H ("Authorization: .*?") -H/.exec(banner)!;
  const { stdout } = await promisify(execFile)('sh', ['-c', `printf %s ${argument}`]);
  expect(stdout).toBe(`Authorization: Bearer ${KEY}`);
  await rm(folder, { recursive: true });
});

test.each([
  ['of the first start', {}, { bootstrapSecret: KEY }, true],
  ['of later ones', {}, {}, false],
  ['that was given', { PROVEC_SECRET: 'a-secret-that-the-operator-chose' }, { bootstrapSecret: KEY }, false],
])('says where the secret is %s: %#', (_, variables, changes, isTold) => {
  const banner = bannerOf({ PROVEC_DATA_DIR: '/srv/provec', ...variables }, changes);
  expect(banner.includes('/srv/provec/secret   (keep a copy apart from the data)')).toBe(isTold);
});
