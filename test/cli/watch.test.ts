/** `provec watch`: what it reports of a service, and which contradictions it exits with 1 for. */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { AnsweringServer, type Answers } from '../support/answering-server.ts';
import { runCommand } from '../support/command-in-process.ts';
import type { CommandRun } from '../support/command-line.ts';
import { type SharedService, shareService } from '../support/shared-service.ts';

const KEY = `pv_live_${'x'.repeat(43)}`;
const TIME = '2026-11-28T10:00:00.000Z';
const [R1, R2, R3] = ['1', '2', '3'].map((digit) => digit.repeat(64));

let service: SharedService;
let folder: string;
beforeAll(async () => {
  [service, folder] = await Promise.all([shareService('anchored'), mkdtemp(join(tmpdir(), 'provec-watch-'))]);
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const watch = (...args: string[]): Promise<CommandRun> =>
  runCommand(['watch', ...args], { PROVEC_URL: service.url, PROVEC_KEY: service.key });
const eventsIn = ({ stdout }: CommandRun) =>
  stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as { event: string; collection: string; version?: number });
const write = (name: string, id: string) =>
  service.api('POST', `/collections/${name}/upsert`, { records: [{ id, values: [1, 2] }] });

test('reports every new anchor and a verification, and continues from its file', async () => {
  for (const name of ['first', 'second']) await service.api('POST', '/collections', { name, dimensions: 2 });
  await write('first', 'a');
  const state = ['--once', '--state', join(folder, 'all.json'), '--json'];
  const begun = await watch(...state);
  expect(begun).toMatchObject({ code: 0, stderr: '' });
  expect(eventsIn(begun)).toMatchObject([
    { event: 'watching', collection: 'second', version: 0, anchoredVersion: null },
    { event: 'unverified', collection: 'second', state: 'none' },
    { event: 'watching', collection: 'first', version: 1, anchoredVersion: 1 },
    { event: 'verified', collection: 'first', version: 1 },
  ]);
  for (const id of ['b', 'c']) await write('first', id);
  await service.api('DELETE', '/collections/second');
  const { body } = await service.api<{ anchors: object[] }>('GET', '/collections/first/anchors');
  const [third, second] = body.anchors as { version: number; merkleRoot: string; ledgerTx: string }[];
  const { version, merkleRoot, ledgerTx } = second;
  const next = await watch(...state);
  expect(eventsIn(next)).toEqual([
    expect.objectContaining({ event: 'anchored', collection: 'first', version, merkleRoot, ledgerTx }),
    expect.objectContaining({ event: 'anchored', version: third.version, merkleRoot: third.merkleRoot }),
    expect.objectContaining({ event: 'deleted', collection: 'second' }),
  ]);
  expect([version, third.version, next.code]).toEqual([2, 3, 0]);
  expect(await watch(...state)).toEqual({ code: 0, stdout: '', stderr: '' });
  const again = await watch('first', '--once', '--verify-every', '0');
  expect(again.stdout).toMatch(/^\S+Z {2}first {2}watching from version 3, anchored version 3\n$/);
  expect(await watch('absent', '--once')).toMatchObject({ code: 3 });
});

test('a service that was set back to an older state is found with the file, every time', async () => {
  await service.api('POST', '/collections', { name: 'restored', dimensions: 2 });
  await write('restored', 'a');
  const file = join(folder, 'restored.json');
  const look = () => watch('restored', '--once', '--state', file);
  await look();
  const before = await readFile(file, 'utf8');
  await writeFile(file, before.replaceAll('"version": 1', '"version": 5'));
  for (const run of [await look(), await look()]) {
    expect(run).toMatchObject({ code: 1, stderr: '' });
    expect(run.stdout).toMatch(/ restored {2}ALARM version-went-back: the newest anchor was of version 5, and is of 1/);
  }
  await writeFile(file, '{"watched": {"x": {"version": 1}}}');
  expect(await look()).toMatchObject({ code: 2, stderr: expect.stringContaining('is not a state of provec watch') });
});

const rootAt = (version: number, merkleRoot: string) => ({ version, merkleRoot });
function detailOf(content: object, anchor: object | null, status = 'confirmed'): object {
  const settings = { dimensions: 2, metric: 'dot', shards: 1, replicas: 0, quantization: 'f32' };
  const none = { version: null, merkleRoot: null, ledgerTx: null, ledgerAddress: null, ledgerExplorerUrl: null };
  const state = { vector_count: 1, created_at: TIME, deletionProtection: false };
  const now = { status, ...none, confirmedAt: null, ...anchor };
  return { collection: { id: 'c', name: 'kept', ...settings, ...state, ...content, anchor: now } };
}
const anchorsOf = (...roots: object[]) => ({
  anchors: roots.map((root, at) => ({
    ...root,
    ...{
      position: roots.length - at,
      vectorCount: 1,
      decisions: 0,
      sealed: true,
      ledgerTx: 'tx',
      ledgerExplorerUrl: null,
      confirmedAt: TIME,
    },
  })),
  dropped: 0,
  nextCursor: null,
});
const mismatch = {
  ...{ verified: false, match: false, state: 'mismatch', reason: 'The stored bytes contradict.', version: 1 },
  ...{ onChainRoot: R1, computedRoot: R2, vectorCount: 1, anchoredVersion: 1, checkedAt: TIME },
  ...{ ledgerAddress: 'l', ledgerExplorerUrl: null },
};
const before = detailOf(rootAt(2, R2), rootAt(2, R2));
const BOTH = anchorsOf(rootAt(2, R2), rootAt(1, R1));

/** What the second look finds, and the alarm. */
const CASES: [what: string, detail: object, anchors: object, reason: string, message: RegExp][] = [
  [
    'an older anchor',
    detailOf(rootAt(3, R3), rootAt(1, R1)),
    BOTH,
    'version-went-back',
    /was of version 2, and is of 1/,
  ],
  ['no anchor', detailOf(rootAt(3, R3), null, 'none'), BOTH, 'version-went-back', /was of version 2, and is of none/],
  [
    'an older content',
    detailOf(rootAt(1, R2), rootAt(2, R2)),
    BOTH,
    'version-went-back',
    /was at version 2, and is at 1/,
  ],
  [
    'another root in the history',
    detailOf(rootAt(3, R3), rootAt(3, R3)),
    anchorsOf(rootAt(3, R3), rootAt(2, R1), rootAt(1, R1)),
    'root-changed',
    /anchor of version 2 had the root 2+, and has 1+ now/,
  ],
  ['another newest root', detailOf(rootAt(2, R2), rootAt(2, R3)), BOTH, 'root-changed', /newest anchor of version 2/],
  ['another content', detailOf(rootAt(2, R3), rootAt(2, R2)), BOTH, 'root-changed', /collection of version 2 had/],
  [
    'a gap in the history',
    detailOf(rootAt(3, R3), rootAt(3, R3)),
    anchorsOf(rootAt(3, R3), rootAt(1, R1)),
    'anchor-gone',
    /anchor of version 2 is not listed/,
  ],
  ['a halt', detailOf(rootAt(3, R3), rootAt(2, R2), 'halted'), BOTH, 'mismatch', /anchoring is halted/],
];

test.each(CASES)('%s is an alarm, at the next look', async (_, detail, anchors, reason, message) => {
  const answers: Answers = {
    'GET /collections/kept': (earlier) => (earlier === 0 ? before : detail),
    'GET /collections/kept/anchors': (earlier) => (earlier === 0 ? BOTH : anchors),
  };
  const server = await AnsweringServer.start(answers);
  const args = ['watch', 'kept', '--interval', '0.1', '--verify-every', '0', '--json'];
  const run = await runCommand(args, { PROVEC_URL: server.url, PROVEC_KEY: KEY });
  server.close();
  expect(run).toMatchObject({ code: 1, stderr: '' });
  expect(eventsIn(run)).toMatchObject([
    { event: 'watching', version: 2 },
    { event: 'alarm', reason, message: expect.stringMatching(message) },
  ]);
});

test('a mismatch of verify is an alarm; an outage and equal versions of several shards are none', async () => {
  const several = (root: string) => detailOf({ ...rootAt(2, root), shards: 2 }, rootAt(2, R2));
  const server = await AnsweringServer.start({
    'GET /collections/kept': (earlier) => [several(R2), 500, several(R3)][earlier] ?? several(R2),
    'GET /collections/kept/anchors': BOTH,
    'POST /collections/kept/verifications': (earlier) => ({
      ...{ id: 'v', state: 'done', progress: { scanned: 1, total: 1 } },
      result: earlier < 2 ? { ...mismatch, state: 'unreachable', reason: 'The ledger is down.' } : mismatch,
    }),
  });
  const args = ['watch', 'kept', '--interval', '0.1', '--json'];
  const run = await runCommand(args, { PROVEC_URL: server.url, PROVEC_KEY: KEY });
  server.close();
  expect(run).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^provec: the watch continues after: refused\n/),
  });
  expect(eventsIn(run)).toMatchObject([
    { event: 'watching' },
    { event: 'unverified', state: 'unreachable', reason: 'The ledger is down.' },
    { event: 'unverified', state: 'unreachable' },
    { event: 'alarm', reason: 'mismatch', message: 'The stored bytes contradict.' },
  ]);
});

test('with a trusted ledger, what the service calls anchored has to be there', async () => {
  const { authority, url: rpc } = service.ledger!;
  await service.api('POST', '/collections', { name: 'trusted', dimensions: 2 });
  await write('trusted', 'a');
  const { collection } = (
    await service.api<{ collection: { id: string; anchor: { version: number; merkleRoot: string } } }>(
      'GET',
      '/collections/trusted',
    )
  ).body;
  const { version, merkleRoot } = collection.anchor;
  const trust = ['--verify-every', '0', '--authority', authority, '--rpc', rpc];
  const fine = await watch('trusted', '--once', ...trust);
  expect(fine).toMatchObject({ code: 0, stderr: '' });
  /** A service that claims this anchor of that collection, at a second look. */
  const claim = async (newest: object, before: object) => {
    const said = (anchor: object) => {
      const detail = detailOf({ ...rootAt(9, R3), shards: 2 }, anchor) as { collection: object };
      return { collection: { ...detail.collection, id: collection.id } };
    };
    const server = await AnsweringServer.start({
      'GET /collections/kept': (earlier) => said(earlier === 0 ? before : newest),
      'GET /collections/kept/anchors': anchorsOf(newest, before),
    });
    const args = ['watch', 'kept', '--interval', '0.1', ...trust];
    const run = await runCommand(args, { PROVEC_URL: server.url, PROVEC_KEY: KEY });
    server.close();
    return run;
  };
  const forged = await claim(rootAt(version, R2), rootAt(version, R2));
  expect(forged.stdout).toContain(
    `ALARM ledger-differs: version ${version} has the root ${merkleRoot} there, not ${R2}`,
  );
  const ahead = await claim(rootAt(version + 2, R2), rootAt(version + 1, R1));
  expect(ahead).toMatchObject({ code: 1, stderr: '' });
  expect(ahead.stdout).toContain(`ledger-differs: it holds version ${version}, but version ${version + 1} was called`);
  const unread = await watch('trusted', '--once', '--authority', authority, '--rpc', 'http://127.0.0.1:1');
  expect(unread).toMatchObject({ code: 0, stdout: expect.stringContaining('not verified (unreachable)') });
  expect(await watch('trusted', '--rpc', rpc)).toMatchObject({ code: 2 });
  expect(await watch('trusted', '--once', '--authority', 'x', '--rpc', rpc)).toMatchObject({ code: 2 });
});
