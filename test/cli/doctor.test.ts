/** `provec doctor`: what each check makes of what it sees. */
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Finding } from '../../cli/doctor/finding.ts';
import { fundsFinding, ledgerClockFinding } from '../../cli/doctor/ledger.ts';
import { limitFinding, nodeFinding, roomFinding } from '../../cli/doctor/machine.ts';
import { replicaFinding } from '../../cli/doctor/mongo.ts';
import { redisSettingsFindings } from '../../cli/doctor/redis.ts';
import { clockFinding, nodesFinding, skewOf, versionsFinding } from '../../cli/doctor/service.ts';
import { certificateFinding, tlsFinding } from '../../cli/doctor/transport-security.ts';
import type { Api } from '../../client/index.ts';
import { AnsweringServer } from '../support/answering-server.ts';
import { runCommand } from '../support/command-in-process.ts';
import { type SharedService, shareService } from '../support/shared-service.ts';
import { ADMIN_TOKEN } from '../support/tenant.ts';

const GIB = 2 ** 30;
const NOW = Date.parse('2026-11-28T10:00:00Z');
const DAY = 86_400_000;

let service: SharedService;
let folder: string;
beforeAll(async () => {
  [service, folder] = await Promise.all([shareService('anchored'), mkdtemp(join(tmpdir(), 'provec-doctor-'))]);
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const NODE: Api.ShardNode = {
  ...{ node: 'n', version: '1.0.0', uptimeSeconds: 1, lease: true, draining: false, open: 1, opening: 0, copies: 0 },
  ...{ bytes: 10, memoryLimitBytes: 100, queued: 0, load: null, workers: 1, error: null },
};
const nodesOf = (...changes: Partial<Api.ShardNode>[]): Api.ListNodesResult => ({
  shardNodes: changes.map((change) => ({ ...NODE, ...change })),
  others: [],
  omitted: 0,
});
const disk = (free: number, reserve = GIB) => roomFinding('/data', { free, total: 11 * GIB, reserve });
const redis = (settings: Record<string, string>, keys = 0) =>
  redisSettingsFindings(
    { save: '', appendonly: 'no', maxmemory: '0', 'maxmemory-policy': 'noeviction', ...settings },
    keys,
  )[0];
const BUFFER = 'client-output-buffer-limit';
const THREE = { setName: 'rs0', primary: 'a', hosts: ['a', 'b', 'c'] };

const CASES: [Finding['status'], string, Finding, RegExp][] = [
  ['ok', 'Node', nodeFinding('24.0.0'), /24\.0\.0/],
  ['problem', 'an old Node', nodeFinding('22.9.0'), /needs Node 24/],
  ['ok', 'a disk with room', disk(4 * GIB), /4\.0 GiB of 11\.0 GiB/],
  ['warning', 'a disk with little room', disk(2.9 * GIB), /larger disk/],
  ['problem', 'a full disk', disk(0.9 * GIB), /507/],
  ['ok', 'enough open files', limitFinding('It', 20_000, 100), /20000/],
  ['warning', 'few open files', limitFinding('It', 2_000, 100), /ulimit/],
  ['problem', 'too few open files', limitFinding('It', 1_000, 0), /ulimit/],
  ['problem', 'open files that are used up', limitFinding('It', 20_000, 19_000), /19000 open/],
  ['ok', 'a clock that agrees', clockFinding({ status: 200, reasons: [], skewMs: -1_500 }), /agrees/],
  ['warning', 'a clock behind', clockFinding({ status: 200, reasons: [], skewMs: -3_000 }), /3\.0 s behind/],
  ['problem', 'a clock ahead', clockFinding({ status: 200, reasons: [], skewMs: 40_000 }), /40\.0 s ahead of/],
  ['unknown', 'no clock', clockFinding({ status: 200, reasons: [], skewMs: null }), /no Date/],
  ['ok', 'one version', versionsFinding('1.0.0', nodesOf({}, {})), /1\.0\.0/],
  ['warning', 'another version here', versionsFinding('0.9.0', nodesOf({})), /use the same/],
  ['warning', 'two versions', versionsFinding('1.0.0', nodesOf({}, { version: '1.1.0' })), /1\.0\.0, 1\.1\.0/],
  ['ok', 'nodes that answer', nodesFinding(nodesOf({}, {})), /All 2/],
  ['problem', 'a node that does not', nodesFinding(nodesOf({ error: 'no answer' })), /n did not answer/],
  ['problem', 'a node without a lease', nodesFinding(nodesOf({ lease: false })), /no lease/],
  ['ok', 'a node that drains', nodesFinding(nodesOf({ lease: false, draining: true })), /answers/],
  ['warning', 'a node without memory', nodesFinding(nodesOf({ bytes: 90 })), /85 %/],
  ['ok', 'funds', fundsFinding('A', 1e9), /1 SOL/],
  ['warning', 'low funds', fundsFinding('A', 1e7), /0\.01 SOL/],
  ['problem', 'no funds', fundsFinding('A', 1e6), /send SOL/],
  ['ok', "the ledger's time", ledgerClockFinding([{ blockSeconds: 990 }, { blockSeconds: null }], 1_000), /of now/],
  ['problem', "a clock behind the ledger's", ledgerClockFinding([{ blockSeconds: 1_010 }], 1_000), /10 s ahead/],
  ['problem', 'a ledger that stands still', ledgerClockFinding([{ blockSeconds: 900 }], 1_000), /100 s old/],
  ['ok', 'a replica set', replicaFinding(THREE, true), /3 members/],
  ['problem', 'a single server', replicaFinding({}, null), /not a replica set/],
  ['problem', 'no primary', replicaFinding({ ...THREE, primary: undefined }, null), /no primary/],
  ['warning', 'an arbiter', replicaFinding({ ...THREE, arbiters: ['d'] }, null), /arbiter/],
  ['warning', 'one member', replicaFinding({ ...THREE, hosts: ['a'] }, null), /1 member:/],
  ['warning', 'a majority without the journal', replicaFinding(THREE, false), /Journal/],
  ['ok', 'a Redis for calls', redis({ [BUFFER]: 'normal 0 0 0 pubsub 268435456 134217728 60' }), /keeps nothing/],
  ['warning', 'small buffers', redis({ [BUFFER]: 'pubsub 33554432 8388608 60' }), /256mb 128mb 60/],
  ['ok', 'buffers without a limit', redis({ [BUFFER]: 'pubsub 0 0 0' }), /room/],
  ['warning', 'persistence', redis({ save: '3600 1' }), /appendonly no/],
  ['warning', 'a log', redis({ appendonly: 'yes' }), /appendonly no/],
  ['warning', 'eviction', redis({ maxmemory: '100', 'maxmemory-policy': 'allkeys-lru' }), /allkeys-lru/],
  ['warning', 'keys of others', redis({}, 7), /7 keys/],
  ['ok', 'a certificate', certificateFinding('h', NOW + 30 * DAY, NOW), /30 more days/],
  ['warning', 'a certificate that ends soon', certificateFinding('h', NOW + 5 * DAY, NOW), /in 5 days/],
  ['problem', 'a certificate that has ended', certificateFinding('h', NOW - 1, NOW), /expired/],
];

test.each(CASES)('%s: %s', (status, _, finding, message) => {
  expect(finding).toEqual({ check: expect.any(String), status, message: expect.stringMatching(message) });
});

test('a Date within the second of the request is no skew', () => {
  expect([skewOf(5_000, 5_300, 5_400), skewOf(5_000, 5_900, 6_100), skewOf(6_000, 5_900, 6_100)]).toEqual([0, 0, 0]);
  expect([skewOf(9_000, 5_000, 5_400), skewOf(1_000, 5_000, 5_400)]).toEqual([3_600, -3_000]);
});

test('plain HTTP is a problem only to another machine', async () => {
  const { signal } = new AbortController();
  expect((await tlsFinding('http://192.0.2.1:8080', signal)).status).toBe('problem');
  expect((await tlsFinding('http://127.0.0.1:8080', signal)).status).toBe('ok');
});

describe('the command', () => {
  const doctor = async (environment: Record<string, string>, ...args: string[]) => {
    const run = await runCommand(['doctor', '--json', ...args], { PROVEC_DATA_DIR: folder, ...environment });
    const document = JSON.parse(run.stdout) as {
      problems: number;
      warnings: number;
      notChecked: number;
      findings: Finding[];
    };
    const statusOf = Object.fromEntries(document.findings.map(({ check, status }) => [check, status]));
    return { ...run, ...document, statusOf };
  };

  test('finds a running service well, and says what it could not check', async () => {
    const run = await doctor({ PROVEC_URL: service.url, PROVEC_ADMIN_TOKEN: ADMIN_TOKEN });
    const { disk: _, 'open files': __, ...statusOf } = run.statusOf;
    expect(statusOf).toEqual({
      ...{ node: 'ok', secrets: 'unknown', tls: 'ok', service: 'ok', clock: 'ok', versions: 'ok', nodes: 'ok' },
      ...{ anchors: expect.any(String), ledger: 'ok', funds: 'ok', mongodb: 'unknown', redis: 'unknown' },
    });
    expect(run).toMatchObject({ stderr: '', notChecked: 3, code: run.problems > 0 ? 1 : 0 });
    const people = await runCommand(['doctor'], { PROVEC_URL: service.url, PROVEC_DATA_DIR: folder });
    expect(people.stdout).toMatch(/^ok {9} {2}service {7} {2}http:\S+ is ready\.$/m);
    expect(people.stdout).toMatch(/^not checked {2}operator {6} {2}Without the admin token/m);
  });

  test('with a file of settings, asks the service of that file and no other', async () => {
    const file = join(folder, 'own.env');
    const { port } = new URL(service.url);
    await writeFile(file, `PROVEC_HOST=0.0.0.0\nPROVEC_PORT=${port}\nPROVEC_ADMIN_TOKEN=${ADMIN_TOKEN}\n`);
    const profiles = join(folder, 'provec', 'config.json');
    await mkdir(join(folder, 'provec'), { mode: 0o700 });
    const other = { default: { url: 'http://127.0.0.1:1', adminToken: 'of-another-service' } };
    await writeFile(profiles, JSON.stringify({ profiles: other }), { mode: 0o600 });
    const run = await doctor({ XDG_CONFIG_HOME: folder }, '--env-file', file);
    expect(run).toMatchObject({ stderr: '', statusOf: { service: 'ok', nodes: 'ok' } });
  });

  test('finds a service that is not ready, one that is gone, and a secret that others can read', async () => {
    await writeFile(join(folder, 'secret'), 'x'.repeat(40));
    await chmod(join(folder, 'secret'), 0o644);
    const file = join(folder, 'provec.env');
    await writeFile(file, `PROVEC_DATA_DIR=${folder}\nPROVEC_REDIS_URL_FILE=${folder}/absent\n`);
    const server = await AnsweringServer.start({});
    const other = await doctor({ PROVEC_URL: server.url }, '--env-file', file);
    server.close();
    expect(other).toMatchObject({ code: 1, statusOf: { service: 'problem', secrets: 'problem', redis: 'problem' } });
    const wrong = await doctor({ PROVEC_URL: service.url, PROVEC_ADMIN_TOKEN: service.key });
    expect(wrong).toMatchObject({ code: 1, stderr: '', statusOf: { service: 'ok', operator: 'problem' } });
    const gone = await doctor({ PROVEC_URL: server.url, PROVEC_ADMIN_TOKEN: ADMIN_TOKEN });
    expect(gone).toMatchObject({ code: 1, stderr: '', statusOf: { service: 'problem' } });
    for (const { stdout } of [other, gone]) expect(stdout).not.toContain('x'.repeat(40));
  });
});
