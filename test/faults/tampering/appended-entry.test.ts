/**
 * An attacker with write access to the store, but without the secret, uses the program to append an
 * entry to a shard's log with everything that belongs to it (links, head, usage count): while the
 * service is stopped, and while it runs.
 */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { VerifyResult } from '../../../contracts/actions/verification.ts';
import { collectionRoot } from '../../../lib/shard/collection-root.ts';
import { shardKey } from '../../../lib/shard/key.ts';
import { encodeEntryBody } from '../../../services/shards/entry.ts';
import type { LogEntry } from '../../../store/log.ts';
import { LogSeals } from '../../../store/log-seals.ts';
import { openStoreAsForger } from '../../support/forger.ts';
import { float32Bytes } from '../../support/intruder.ts';
import { LedgerRelay } from '../../support/ledger-relay.ts';
import { referenceLeaf, referenceRoot } from '../../support/reference-root.ts';
import { startService, type TestService } from '../../support/service.ts';
import { FORGED_KEYS } from '../../support/store-keys.ts';
import { TamperedRows } from '../../support/tampered-rows.ts';
import { until } from '../../support/until.ts';

interface Record3 {
  id: string;
  values: number[];
  metadata: object;
}

const TRUE: Record3 = { id: 'true', values: [1, 0, 0], metadata: {} };
const FORGED: Record3 = { id: 'forged', values: [0, 1, 0], metadata: { owed: 'ten thousand' } };
const LATER: Record3 = { id: 'later', values: [0, 0, 1], metadata: {} };

const leafOf = ({ id, values, metadata }: Record3) => referenceLeaf(id, values, metadata);

let relay: LedgerRelay;
let service: TestService;
const ids = new Map<string, string>();

const verify = async (name: string) => (await service.api<VerifyResult>('GET', `/collections/${name}/verify`)).body;
const anchored = (name: string) => until(`${name} is anchored`, async () => (await verify(name)).state === 'match');
const upsert = (name: string, record: Record3) =>
  service.api<{ anchor: { status: string } }>('POST', `/collections/${name}/upsert`, { records: [record] });
async function served(name: string): Promise<string[]> {
  const asked = { ids: [TRUE.id, FORGED.id, LATER.id] };
  const { body } = await service.api<{ vectors: object }>('POST', `/collections/${name}/fetch`, asked);
  return Object.keys(body.vectors).sort();
}
async function onChain(name: string): Promise<unknown> {
  const account = await (await relay.client('authority')).read(ids.get(name)!);
  return account.status === 'found' && account.fields;
}

/** Appends an entry that adds the forged record to the true one. */
async function append(name: string, kind: LogEntry['kind'], epoch: number, folder = service.dataDir): Promise<void> {
  const store = await openStoreAsForger(folder);
  try {
    const shard = shardKey(ids.get(name)!, 0);
    const before = (await store.log.head(shard))!;
    const seq = before.seq + 1;
    const isWrite = kind === 'write';
    const { id, values } = FORGED;
    const { leaf } = leafOf(FORGED);
    const metadata = Buffer.from(JSON.stringify(FORGED.metadata));
    const upserts = isWrite ? [{ id, vector: Float32Array.from(values), metadata, leaf }] : [];
    const hash = Buffer.from(referenceRoot([TRUE, FORGED].map(leafOf)), 'hex');
    const head = isWrite
      ? ({ seq, version: 2, type: 'inner', hash, count: 2 } as const)
      : ({ ...before, seq, version: 1, type: 'leaf', hash: leafOf(TRUE).leaf, count: 1 } as const);
    const body = isWrite ? encodeEntryBody({ dimensions: 3, upserts, deletes: [] }) : new Uint8Array(0);
    const entryId = '01234567-89ab-4cde-8f01-23456789abcd';
    expect(await store.log.append({ shard, seq, epoch, entryId, kind, head, tally: null, body })).toBe('committed');
  } finally {
    await store.close();
  }
}

beforeAll(async () => {
  relay = await LedgerRelay.open();
  service = await startService({ ...relay.environment, PROVEC_ANCHOR_WAIT_MS: '200', PROVEC_LOG_LEVEL: 'silent' });
  for (const name of ['stopped', 'running', 'opened', 'untouched']) {
    const { body } = await service.api<{ collection: { id: string } }>('POST', '/collections', { name, dimensions: 3 });
    ids.set(name, body.collection.id);
    await upsert(name, TRUE);
    await anchored(name);
  }
});
afterAll(async () => {
  await service.stop();
  await relay.close();
});

const HEAD = { seq: 1, version: 1, count: 1, type: 'leaf', hash: leafOf(TRUE).leaf } as const;
const HONEST = collectionRoot([HEAD]);

async function expectFound(name: string): Promise<void> {
  expect(await verify(name)).toMatchObject({ state: 'mismatch', verified: false, anchoredVersion: 1 });
  expect(await onChain(name)).toMatchObject(HONEST);
  expect(await served(name)).not.toContain(FORGED.id);
}

describe('an entry appended while the service is stopped', () => {
  beforeAll(async () => {
    await service.provec.stop();
    await append('stopped', 'write', 0);
    await service.restart();
  });

  test('is not anchored by the start, which halts the collection before any request', async () => {
    await until('the start has looked at all collections', async () => {
      const text = await (await fetch(`${service.url}/metrics`)).text();
      return /^provec_anchors_halted 1$/m.test(text);
    });
    await expectFound('stopped');
  });

  test('nor by later writes, which succeed without it', async () => {
    expect(await upsert('stopped', LATER)).toMatchObject({ status: 200, body: { anchor: { status: 'pending' } } });
    await expectFound('stopped');
    expect(await served('stopped')).toEqual([LATER.id, TRUE.id]);
    await service.restart();
    await expectFound('stopped');
    expect(await served('stopped')).toEqual([LATER.id, TRUE.id]);
  });

  test('untouched collections are anchored as before', async () => {
    await upsert('untouched', LATER);
    await anchored('untouched');
  });
});

describe.each([
  { name: 'running', kind: 'write', epoch: 0 },
  { name: 'opened', kind: 'open', epoch: 9 },
] as const)('an entry of kind $kind appended while the service runs', ({ name, kind, epoch }) => {
  test('is not anchored, and neither is anything after it', async () => {
    await append(name, kind, epoch);
    await until('writes are taken again', async () => (await upsert(name, LATER)).status === 200);
    expect(await upsert(name, LATER)).toMatchObject({ status: 200, body: { anchor: { status: 'pending' } } });
    await expectFound(name);
    expect(await served(name)).toEqual([LATER.id, TRUE.id]);
  });
});

describe('without a ledger', () => {
  let alone: TestService;
  const other = { ...TRUE, values: [-1, 0, 0] };

  beforeAll(async () => {
    alone = await startService({ PROVEC_LEDGER: 'off', PROVEC_LOG_LEVEL: 'silent' });
    for (const name of ['appended', 'every-root']) {
      const { body } = await alone.api<{ collection: { id: string } }>('POST', '/collections', { name, dimensions: 3 });
      ids.set(name, body.collection.id);
      await alone.api('POST', `/collections/${name}/upsert`, { records: [TRUE] });
    }
    await alone.provec.stop();
    await append('appended', 'write', 0, alone.dataDir);
    const rows = new TamperedRows(alone.dataDir, ids.get('every-root')!);
    const { leaf } = leafOf(other);
    const vector = float32Bytes(other.values);
    expect(
      rows.records('UPDATE records SET vector = :vector, leaf = :leaf WHERE shard = :shard', { vector, leaf }),
    ).toBe(1);
    rows.log('DELETE FROM entries WHERE shard = :shard');
    const [{ link }] = rows.inLog<{ link: Uint8Array }>('SELECT link FROM shards WHERE number = :shard') as [
      { link: Uint8Array },
    ];
    const seal = new LogSeals(FORGED_KEYS.log).head(rows.shardKey, { ...HEAD, hash: leaf }, link);
    expect(rows.log('UPDATE shards SET hash = :leaf, seal = :seal WHERE number = :shard', { leaf, seal })).toBe(1);
    await alone.restart();
  });
  afterAll(() => alone.stop());

  test.each(['appended', 'every-root'])('is a mismatch too, through writes and restarts (%s)', async (name) => {
    const found = async () => (await alone.api<VerifyResult>('GET', `/collections/${name}/verify`)).body.state;
    expect(await found()).toBe('mismatch');
    expect((await alone.api('POST', `/collections/${name}/upsert`, { records: [LATER] })).status).toBe(200);
    await alone.restart();
    expect(await found()).toBe('mismatch');
  });
});
