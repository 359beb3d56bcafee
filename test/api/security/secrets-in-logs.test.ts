import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { KeyView } from '../../../contracts/actions/keys.ts';
import { type Api, apiClient } from '../../support/api-client.ts';
import { tamperOnDisk } from '../../support/intruder.ts';
import { type ServiceProcess, startProcess } from '../../support/service-process.ts';
import { until } from '../../support/until.ts';

const ADMIN_TOKEN = 'operator-token-that-nobody-may-read';
const WRONG_KEY = 'pv_live_wrong-key-that-somebody-mistyped';
/** Digits that occur nowhere else. */
const VALUE = 0.731946;
const MARK = 'metadata-that-nobody-may-read';
const RECORD = { id: 'a', values: [VALUE, 1, -VALUE], metadata: { [`key-${MARK}`]: `value-${MARK}` } };

let service: ServiceProcess;
let output = '';
let firstKey: string;
const secrets: string[] = [];

/** Sends all kinds of requests, valid and invalid. */
async function session(api: Api, admin: Api): Promise<void> {
  const path = '/collections/demo';
  await api('POST', '/collections', { name: 'demo', dimensions: 3 });
  expect(await api('POST', `${path}/upsert`, { records: [RECORD] })).toMatchObject({ status: 200 });
  for (const [operation, body] of [
    ['query', { vector: RECORD.values, filter: RECORD.metadata, includeValues: true }],
    ['fetch', { ids: ['a'] }],
    ['delete', { ids: ['absent'] }],
    ['upsert', { records: [{ ...RECORD, values: [VALUE] }] }],
    ['upsert', { records: [{ ...RECORD, values: [VALUE, String(VALUE), MARK] }] }],
    ['upsert', { records: [{ ...RECORD, metadata: { deep: `${MARK}`.repeat(2_000) } }] }],
    ['upsert', { records: [{ ...RECORD, metadata: MARK }] }],
    ['upsert', { records: [{ ...RECORD, [`unknown-${MARK}`]: MARK }] }],
    ['query', { vector: [VALUE], filter: { [MARK]: { [`$${MARK}`]: MARK } } }],
    ['query', { vector: RECORD.values, filter: { [MARK]: { [`$${MARK}`]: MARK } } }],
    ['query', { vector: RECORD.values, [MARK]: MARK }],
    [`${MARK}?${MARK}=${VALUE}`, {}],
  ] as const) {
    await api('POST', `${path}/${operation}`, body);
  }
  const broken = {
    method: 'POST',
    headers: { authorization: `Bearer ${firstKey}`, 'content-type': 'application/json' },
  };
  await fetch(`${service.url}/api/v1${path}/upsert`, { ...broken, body: `{"records":[{"${MARK}":${VALUE}` });
  for (const key of [WRONG_KEY, `${firstKey}x`]) {
    expect(await apiClient(service.url, key)('GET', path)).toMatchObject({ status: 401 });
    expect(await apiClient(service.url, key)('GET', '/admin/accounts')).toMatchObject({ status: 401 });
  }
  const made = await api<{ key: KeyView }>('POST', '/keys', { name: 'second' });
  const account = await admin<{ key: KeyView }>('POST', '/admin/accounts', { name: 'tenant', plan: 'pro' });
  secrets.push(made.body.key.secret!, account.body.key.secret!);
  await apiClient(service.url, made.body.key.secret!)('GET', `${path}/verify`);
  await api('DELETE', `/keys/${made.body.key.id}`);
  await api('GET', `${path}/verify`);
}

const collect = () => {
  output += service.stdout + service.stderr;
};

beforeAll(async () => {
  service = await startProcess({
    PROVEC_LOG_LEVEL: 'trace',
    PROVEC_ADMIN_TOKEN: ADMIN_TOKEN,
    PROVEC_BOOTSTRAP_KEY: '',
    PROVEC_ANCHOR_WAIT_MS: '1000',
  });
  firstKey = /pv_live_[\w-]{43}/.exec(service.stdout)![0];
  const api: Api = (method, path, body) => apiClient(service.url, firstKey)(method, path, body);
  const admin: Api = (method, path, body) => apiClient(service.url, ADMIN_TOKEN)(method, path, body);
  await session(api, admin);
  // Faults of components are logged as well: the ledger dies, and stored bytes change.
  const { stdout } = await promisify(execFile)('ps', ['-o', 'pid=', '--ppid', String(service.pid)]);
  for (const pid of stdout.split('\n').map(Number).filter(Boolean)) process.kill(pid, 'SIGKILL');
  await until('the death of the ledger is in the log', () => service.stderr.includes('The embedded ledger stopped'));
  await session(api, admin);
  await service.kill('SIGTERM');
  collect();
  expect(tamperOnDisk(service.dataDir, `value-${MARK}`, `eulav-${MARK}`, /\.db(-wal)?$/)).toBeGreaterThan(0);
  await service.restart();
  await session(api, admin);
  await service.kill('SIGKILL');
  collect();
});
afterAll(() => service.dispose());

test('logs requests and faults', () => {
  expect(output).toContain('"msg":"request"');
  expect(output).toContain('stored bytes contradict');
  expect(output.length).toBeGreaterThan(10_000);
});

test('prints the first key once, and never logs it', () => {
  expect(output.split(firstKey)).toHaveLength(3);
  expect(output.indexOf(firstKey)).toBeLessThan(output.indexOf('"level"'));
  expect(service.stderr).not.toContain(firstKey);
});

test('no output contains another secret, or part of one', async () => {
  expect(secrets).toHaveLength(6);
  // The store keeps the beginning of a key; the rest is secret.
  for (const secret of [...secrets, ADMIN_TOKEN, WRONG_KEY]) expect(output).not.toContain(secret.slice(12));
  const installation = (await readFile(join(service.dataDir, 'secret'), 'utf8')).trim();
  expect(installation).toHaveLength(43);
  expect(output).not.toContain(installation.slice(0, 12));
  const keypair = JSON.parse(await readFile(join(service.dataDir, 'ledger-keypair.json'), 'utf8')) as number[];
  expect(keypair).toHaveLength(64);
  const bytes = Buffer.from(keypair.slice(0, 32));
  for (const text of [keypair.slice(0, 8).join(','), bytes.toString('hex'), bytes.toString('base64').slice(0, 40)]) {
    expect(output).not.toContain(text);
  }
});

test("no output contains a vector's values or metadata", () => {
  const traces = [String(VALUE).slice(2), String(Math.fround(VALUE)).slice(2, 9), MARK];
  expect(output.split('\n').filter((line) => traces.some((trace) => line.includes(trace)))).toEqual([]);
});
