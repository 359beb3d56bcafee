import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from '@jest/globals';
import { ConfigError, readConfig, VARIABLES } from '../../process/config.ts';
import { StartedProcess } from '../support/service-process.ts';

const BAD: Record<string, string[]> = {
  PROVEC_PORT: ['http', '-1', '65536', '80.5', '0x50', '1e3'],
  PROVEC_HEALTH_PORT: ['http', '-1', '65536'],
  PROVEC_TRUSTED_PROXIES: ['example.com', '10.0.0.0/33', '10.0.0.0/8/8', 'fd00::/129', '10.0.0.0/', '1.2.3'],
  PROVEC_QUERY_CONCURRENCY: ['0', '-1', 'many', '1000000'],
  PROVEC_BOOTSTRAP_KEY: ['tooshort', `has a space ${'x'.repeat(16)}`, 'x'.repeat(257), 'ключ-ключ-ключ-ключ'],
  PROVEC_BOOTSTRAP_PLAN: ['gold', 'Free', 'constructor'],
  PROVEC_ADMIN_TOKEN: ['tooshort', `has a space ${'x'.repeat(16)}`],
  PROVEC_SECRET: ['tooshort', 'words of a sentence, none of them long', 'x'.repeat(513), `${'x '.repeat(4)}x`],
  PROVEC_LEDGER: ['no', 'OFF', 'true'],
  PROVEC_SOLANA_RPC_URLS: ['127.0.0.1:8899', 'http://a,ftp://b', ',', 'http://'],
  PROVEC_MONGO_URL: ['localhost:27017', 'http://localhost', 'mongodb://', 'mongodb+srv:'],
  PROVEC_REDIS_URL: ['localhost:6379', 'http://localhost', 'redis:'],
  PROVEC_TRANSPORTER: ['tcp', 'redis', 'NATS'],
  PROVEC_NODE_ID: ['with space', 'a|b', '-', 'x'.repeat(129)],
  PROVEC_SOLANA_CLUSTER: ['mainnet', 'localnet'],
  PROVEC_ANCHOR_WAIT_MS: ['-1', '60001', '5s'],
  PROVEC_PRICING_URL: ['example.com', 'javascript:alert(1)'],
  PROVEC_PUBLIC_URL: ['example.com', 'javascript:alert(1)'],
  PROVEC_STATUS_URL: ['example.com', 'file:///etc/passwd'],
  PROVEC_MEMORY_LIMIT_MB: ['63', '1.5', '512MB', '99999999'],
  PROVEC_DISK_RESERVE_MB: ['-1', '1048577', 'half'],
  PROVEC_WORKERS: ['0', '257', 'all'],
  PROVEC_LIMITS: [
    '{',
    '[]',
    '"x"',
    'null',
    '{"topK":1}',
    '{"topKMax":0}',
    '{"topKMax":10001}',
    '{"__proto__":1}',
    '{"constructor":1}',
  ],
  PROVEC_PLANS: [
    '{',
    '[]',
    '{"gold":{}}',
    '{"constructor":{}}',
    '{"free":{"vectors":-2}}',
    '{"free":{"shards":"4"}}',
    '{"free":{"x":1}}',
    '{"free":{"toString":1}}',
    '{"free":{"anchoring":1}}',
    '{"free":[]}',
    '{"free":null}',
  ],
  PROVEC_RATE_LIMIT_PER_SECOND: ['-1', '1000001', 'off'],
  PROVEC_EMBEDDINGS_URL: ['localhost:11434', 'file:///etc/passwd'],
  PROVEC_EMBEDDINGS_KEY: ['has a space', 'ключ', 'x'.repeat(4097)],
  PROVEC_EMBEDDINGS_PER_MINUTE: ['0', '1000001', 'many'],
  PROVEC_CORS_ORIGINS: ['example.com', 'https://a.example/path', 'null'],
  PROVEC_LOG_LEVEL: ['verbose', 'INFO', '30'],
  PROVEC_LOG_FORMAT: ['text'],
};
/** These values are only checked when they are used. */
const ANY_VALUE = [
  'PROVEC_BACKUP_DIR',
  'PROVEC_DATA_DIR',
  'PROVEC_EMBEDDINGS_MODEL',
  'PROVEC_HEALTH_HOST',
  'PROVEC_HOST',
  'PROVEC_SECRET_FILE',
  'PROVEC_SOLANA_KEYPAIR',
  'PROVEC_TLS_CERT',
  'PROVEC_TLS_KEY',
];

const started: StartedProcess[] = [];
afterAll(async () => {
  for (const run of started) run.dispose();
  await Promise.all(started.map(({ ended }) => ended));
});

function refusalOf(environment: Record<string, string>): ConfigError | null {
  try {
    readConfig(environment);
    return null;
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return error;
  }
}

test('tries every variable that can have an invalid value', () => {
  const all = Object.values(VARIABLES).map(({ env }) => env);
  expect([...Object.keys(BAD), ...ANY_VALUE].sort()).toEqual(all.sort());
});

test.each(Object.entries(BAD).flatMap(([name, values]) => values.map((value) => [name, value])))(
  '%s=%j is refused with one line that names the variable, without repeating a secret',
  (name, value) => {
    const { message } = refusalOf({ [name]: value })!;
    expect(message).toMatch(new RegExp(`^${name} must be [^\\n]+\\.$`));
    if (/KEY|TOKEN/.test(name)) expect(message).not.toContain(value);
  },
);

test('a wrong URL in a list is reported by its position', () => {
  for (const value of ['ftp://x', 'http://a,ftp://b', ',']) {
    const { message } = refusalOf({ PROVEC_SOLANA_RPC_URLS: value })!;
    expect(message).toBe('PROVEC_SOLANA_RPC_URLS must be http or https URLs, separated by commas.');
  }
});

test('unknown PROVEC_ variables are refused, and others ignored', () => {
  expect(refusalOf({ PROVEC_LEDGERS: 'off' })?.message).toMatch(/^PROVEC_LEDGERS is not a Provec variable; /);
  expect(refusalOf({ PROVECTION: '1', PATH: '/bin', PROVEC_PORT: '', PROVEC_HOST: ' ' })).toBeNull();
});

test('an invalid value ends the process with only that line and exit code 2', async () => {
  const environments: Record<string, string>[] = [
    { PROVEC_MEMORY_LIMIT_MB: '512MB' },
    { PROVEC_LIMITS: '{"topK":\n1}' },
  ];
  const runs = environments.map((environment) => new StartedProcess(environment));
  started.push(...runs);
  for (const run of runs) {
    expect(await run.ended).toEqual({ code: 2, signal: null });
    expect(run.stdout).toBe('');
    expect(run.stderr).toMatch(/^Provec cannot start: PROVEC_(MEMORY_LIMIT_MB|LIMITS) must be [^\n]+\.\n$/);
  }
});

test('an address of another machine ends the start with one line that says which variable to set', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'provec-host-'));
  const data = { PROVEC_DATA_DIR: folder, PROVEC_PORT: '0', PROVEC_LEDGER: 'off' };
  for (const host of ['192.0.2.1', 'http://127.0.0.1']) {
    const run = new StartedProcess({ ...data, PROVEC_HOST: host });
    started.push(run);
    expect(await run.ended).toEqual({ code: 1, signal: null });
    expect(run.stdout).toBe('');
    expect(run.stderr).toMatch(/^Provec cannot start: [^\n]*set PROVEC_HOST[^\n]*\n$/);
  }
  await rm(folder, { recursive: true });
});
