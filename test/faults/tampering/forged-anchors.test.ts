/**
 * An attacker changes a record with its leaf and the root in the log, and then the collection's
 * outbox row: nothing was confirmed, an operator accepted the stored data, or other transactions
 * are in flight. Or the attacker makes the service forget that roots were anchored.
 */
import { cp, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { CollectionDetail, UpsertResult } from '../../../contracts/actions/collections.ts';
import type { VerifyResult } from '../../../contracts/actions/verification.ts';
import { float32Bytes } from '../../support/intruder.ts';
import { LedgerRelay } from '../../support/ledger-relay.ts';
import { referenceLeaf, referenceRoot } from '../../support/reference-root.ts';
import { startService, type TestService } from '../../support/service.ts';
import { TamperedRows } from '../../support/tampered-rows.ts';
import { until } from '../../support/until.ts';

interface Record3 {
  id: string;
  values: number[];
  metadata: object;
}
type Row = Record<string, unknown>;

const VICTIM: Record3 = { id: 'victim', values: [0.25, 0.5, -0.75], metadata: { owed: 'ten thousand' } };
const CHANGED: Record3 = { ...VICTIM, values: [0.25, 0.5, 0.75] };
const FIRST: Record3 = { id: 'first', values: [1, 0, 0], metadata: {} };
const OTHER: Record3 = { id: 'other', values: [0, 0, 1], metadata: {} };

const leafOf = ({ id, values, metadata }: Record3) => referenceLeaf(id, values, metadata);
const rootOf = (records: Record3[]) => referenceRoot(records.map(leafOf));
const HONEST = rootOf([FIRST, VICTIM]);
const SHOWN = `2 ${HONEST} 2`;

/** Forged outbox rows of a collection whose record, leaf and recorded root were changed. */
const FORGERIES: Record<string, ((row: Row) => Row) | null> = {
  'nothing was confirmed': (row) => ({ ...row, confirmed: null, wanted: null, wantedAt: null }),
  'the row is gone': null,
  'an operator trusts it': (row) => ({ ...row, confirmed: null, wanted: null, wantedAt: null, trusted: SHOWN }),
  'roots were not anchored for a while': (row) => {
    const lapsed = [{ merkleRoot: HONEST, version: 2, vectorCount: 2 }];
    return { ...row, confirmed: null, wanted: null, wantedAt: null, lapsed };
  },
  'an old transaction is in flight': (row) => {
    const { cut, signature } = row.confirmed as { cut: Row[]; signature: string };
    const inFlight = { step: 'update', signature, wire: 'AQID', lastValidBlockHeight: '1', cut };
    return { ...row, confirmed: null, wanted: cut.map((head) => ({ ...head, version: 3 })), inFlight };
  },
  'nothing of the row': (row) => row,
  'what is no row': () => ({ confirmed: 7, lapsed: 7 }),
};
/** Number of rows that were not written with the keypair. */
const MADE_UP = Object.values(FORGERIES).filter((change) => change !== null).length - 1;
const NAMES = Object.keys(FORGERIES).map((_, at) => `forged-${at}`);

let relay: LedgerRelay;
let service: TestService;
const ids = new Map<string, string>();

const verify = async (name: string) => (await service.api<VerifyResult>('GET', `/collections/${name}/verify`)).body;
const anchored = (name: string) => until(`${name} is anchored`, async () => (await verify(name)).state === 'match');
const upsert = async (name: string, record: Record3) =>
  (await service.api<UpsertResult>('POST', `/collections/${name}/upsert`, { records: [record] })).body;
const anchorOf = async (name: string) =>
  (await service.api<{ collection: CollectionDetail }>('GET', `/collections/${name}`)).body.collection.anchor;
const rowsOf = (name: string) => new TamperedRows(service.dataDir, ids.get(name)!);
async function halted(): Promise<number> {
  const text = await (await fetch(`${service.url}/metrics`)).text();
  return Number(/^provec_anchors_halted (\d+)$/m.exec(text)![1]);
}
async function onChain(name: string): Promise<string | null> {
  const account = await (await relay.client('authority')).read(ids.get(name)!);
  return account.status === 'found' ? (account.fields?.merkleRoot ?? null) : null;
}

beforeAll(async () => {
  relay = await LedgerRelay.open();
  service = await startService({ ...relay.environment, PROVEC_ANCHOR_WAIT_MS: '200', PROVEC_LOG_LEVEL: 'silent' });
  const fill = async (name: string): Promise<void> => {
    const { body } = await service.api<{ collection: { id: string } }>('POST', '/collections', { name, dimensions: 3 });
    ids.set(name, body.collection.id);
    await upsert(name, FIRST);
    await upsert(name, VICTIM);
    await anchored(name);
  };
  await Promise.all([...NAMES, 'rolled-back', 'untouched', 'off'].map(fill));
});
afterAll(async () => {
  await service.stop();
  await relay.close();
});

/**
 * Changes the victim's bytes and leaf, and the newest root. The log keeps no trace of the original.
 */
function forge(rows: TamperedRows): void {
  const vector = float32Bytes(CHANGED.values);
  const { leaf } = leafOf(CHANGED);
  const sql = `UPDATE records SET vector = :vector, leaf = :leaf WHERE shard = :shard AND id = CAST('victim' AS BLOB)`;
  expect(rows.records(sql, { vector, leaf })).toBe(1);
  rows.log('DELETE FROM entries WHERE shard = :shard');
  const root = Buffer.from(rootOf([FIRST, CHANGED]), 'hex');
  expect(rows.log('UPDATE shards SET hash = :root WHERE number = :shard', { root })).toBe(1);
}

/**
 * Resolves after the ledger was queried for a while: enough time for the service to sign anything.
 */
async function asked(): Promise<void> {
  for (let count = 0; count < 3; count++) await verify('untouched');
}

test('a made-up row never gets a forgery anchored', async () => {
  await service.provec.stop();
  for (const [at, change] of Object.values(FORGERIES).entries()) {
    const rows = rowsOf(NAMES[at]!);
    forge(rows);
    rows.anchors(change);
  }
  await service.restart();
  // Before anyone asks for one of them.
  await until('an operator is told of rows that were made up', async () => (await halted()) >= MADE_UP);
  const expectHalted = async (name: string, start: number): Promise<void> => {
    expect(await verify(name)).toMatchObject({ state: 'mismatch', verified: false });
    expect((await upsert(name, { ...OTHER, id: `of start ${start}` })).anchor.status).toBe('pending');
    await until('the collection says that it is halted', async () => (await anchorOf(name)).status === 'halted');
    expect(await onChain(name)).toBe(HONEST);
  };
  for (let start = 1; start <= 2; start++) {
    await asked();
    await Promise.all(NAMES.map((name) => expectHalted(name, start)));
    await service.restart();
  }
  await upsert('untouched', OTHER);
  await anchored('untouched');
});

test('a log put back to before a confirmed root does not confirm a write by it', async () => {
  await service.provec.stop();
  const rows = rowsOf('rolled-back');
  rows.log('DELETE FROM entries WHERE shard = :shard');
  const root = Buffer.from(rootOf([FIRST]), 'hex');
  const sql = `UPDATE shards SET seq = 1, version = 1, type = 'leaf', count = 1, hash = :root WHERE number = :shard`;
  expect(rows.log(sql, { root })).toBe(1);
  expect(rows.records(`DELETE FROM records WHERE shard = :shard AND id = CAST('victim' AS BLOB)`)).toBe(1);
  rows.records('UPDATE shards SET seq = 1 WHERE number = :shard');
  await service.restart();
  expect(await upsert('rolled-back', OTHER)).toMatchObject({ anchor: { status: 'pending' }, ledgerTx: null });
  expect(await verify('rolled-back')).toMatchObject({ state: 'mismatch' });
  expect(await onChain('rolled-back')).toBe(HONEST);
});

test('a start without the ledger forgets none of it', async () => {
  const isStore = (name: string) => !name.startsWith('ledger');
  const older = await mkdtemp(join(tmpdir(), 'provec-older-'));
  const copy = async (from: string, to: string) => {
    for (const name of (await readdir(from)).filter(isStore))
      await cp(join(from, name), join(to, name), { recursive: true });
  };
  try {
    await service.provec.stop();
    await copy(service.dataDir, older);
    await service.restart();
    const deleted = await service.api<UpsertResult>('POST', '/collections/off/delete', { ids: ['victim'] });
    expect(deleted.body).toMatchObject({ deletedCount: 1 });
    await anchored('off');
    expect(await onChain('off')).toBe(rootOf([FIRST]));

    await service.provec.stop();
    for (const name of (await readdir(service.dataDir)).filter(isStore))
      await rm(join(service.dataDir, name), { recursive: true });
    await copy(older, service.dataDir);
    await service.restart({ PROVEC_LEDGER: 'off' });
    expect((await upsert('off', VICTIM)).anchor.status).toBe('none');
    expect(await verify('off')).toMatchObject({ state: 'not_anchored' });
    await service.provec.stop();
    await service.restart({ PROVEC_LEDGER: 'on' });
    await asked();
    expect(await verify('off')).toMatchObject({ state: 'mismatch' });
    expect((await upsert('off', OTHER)).anchor.status).toBe('pending');
    expect(await onChain('off')).toBe(rootOf([FIRST]));
  } finally {
    await rm(older, { recursive: true });
  }
});
