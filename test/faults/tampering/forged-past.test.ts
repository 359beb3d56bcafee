/**
 * An attacker changes an anchored record while later writes wait for their anchor, together with
 * every root recorded since; edits a checkpoint with its checksums, also one newer than the last
 * anchor; or restores an older copy of the whole store.
 */
import { createHash } from 'node:crypto';
import { cp, readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { VerifyResult } from '../../../contracts/actions/verification.ts';
import { LogSeals } from '../../../store/log-seals.ts';
import { float32Bytes, tamperOnDisk } from '../../support/intruder.ts';
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

const VICTIM: Record3 = { id: 'victim', values: [0.25, 0.5, -0.75], metadata: { owed: 'ten thousand' } };
const CHANGED: Record3 = { ...VICTIM, values: [0.25, 0.5, 0.75] };
const FIRST: Record3 = { id: 'first', values: [1, 0, 0], metadata: {} };
const LAST: Record3 = { id: 'last', values: [0, 1, 0], metadata: {} };
/** Enough for an index, and so for a checkpoint. */
const MANY: Record3[] = Array.from({ length: 2_100 }, (_, at) => ({
  id: `r${at}`,
  values: [1, at, at % 7],
  metadata: {},
}));
const BATCH = 700;

const leafOf = ({ id, values, metadata }: Record3) => referenceLeaf(id, values, metadata);
const rootOf = (records: Record3[]) => Buffer.from(referenceRoot(records.map(leafOf)), 'hex');
const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest();

/** Seals of a forger who has the program and the store but not the secret. */
const FORGER = new LogSeals(FORGED_KEYS.log);

let relay: LedgerRelay;
let service: TestService;
const ids = new Map<string, string>();

const verify = async (name: string) => (await service.api<VerifyResult>('GET', `/collections/${name}/verify`)).body;
const rowsOf = (name: string) => new TamperedRows(service.dataDir, ids.get(name)!);
async function create(name: string): Promise<void> {
  const { body } = await service.api<{ collection: { id: string } }>('POST', '/collections', { name, dimensions: 3 });
  ids.set(name, body.collection.id);
}
async function upsert(name: string, records: Record3[]): Promise<string> {
  const answer = await service.api<{ anchor: { status: string } }>('POST', `/collections/${name}/upsert`, { records });
  expect(answer.status).toBe(200);
  return answer.body.anchor.status;
}
const anchored = (name: string) => until(`${name} is anchored`, async () => (await verify(name)).state === 'match');
async function valuesOf(name: string, id: string): Promise<number[] | undefined> {
  const { body } = await service.api<{ vectors: Record<string, Record3> }>('POST', `/collections/${name}/fetch`, {
    ids: [id],
  });
  return body.vectors[id]?.values;
}

beforeAll(async () => {
  relay = await LedgerRelay.open();
  service = await startService({ ...relay.environment, PROVEC_ANCHOR_WAIT_MS: '300', PROVEC_LOG_LEVEL: 'silent' });
});
afterAll(async () => {
  await service.stop();
  await relay.close();
});

/** Changes the victim's bytes and leaf, and the roots of entry 3 and of the head, consistently. */
function forge(rows: TamperedRows): void {
  const { vector, leaf, root } = {
    vector: float32Bytes(CHANGED.values),
    leaf: leafOf(CHANGED).leaf,
    root: rootOf([FIRST, CHANGED, LAST]),
  };
  const sql = `UPDATE records SET vector = :vector, leaf = :leaf WHERE shard = :shard AND id = CAST('victim' AS BLOB)`;
  expect(rows.records(sql, { vector, leaf })).toBe(1);
  interface Row {
    epoch: number;
    entryId: string;
    version: number;
    count: number;
    tally: string;
    body: Uint8Array;
    before: Uint8Array;
  }
  const [row] = rows.inLog<Row>('SELECT * FROM entries WHERE shard = :shard AND seq = 3');
  const { epoch, entryId, version, count, tally, body, before } = row!;
  const shard = rows.shardKey;
  const head = { seq: 3, version, type: 'inner', hash: root, count } as const;
  const entry = { shard, seq: 3, epoch, entryId, kind: 'write', head, tally: JSON.parse(tally) } as const;
  const link = FORGER.link({ entry, bodyHash: sha256(body), before });
  const values = { root, link };
  expect(rows.log('UPDATE entries SET hash = :root, link = :link WHERE shard = :shard AND seq = 3', values)).toBe(1);
  const seal = FORGER.head(shard, head, link);
  const sealed = { root, link, seal };
  expect(rows.log('UPDATE shards SET hash = :root, link = :link, seal = :seal WHERE number = :shard', sealed)).toBe(1);
}

/** Changes the materialised records to include the third write. */
function materialise(rows: TamperedRows): void {
  const { vector, leaf } = { vector: float32Bytes(LAST.values), leaf: leafOf(LAST).leaf };
  const sql = `INSERT INTO records (place, shard, id, seq, vector, metadata, leaf)
    SELECT place + 1000000, shard, CAST('last' AS BLOB), 3, :vector, CAST('{}' AS BLOB), :leaf
    FROM records WHERE shard = :shard AND id = CAST('victim' AS BLOB)`;
  expect(rows.records(sql, { vector, leaf })).toBe(1);
  expect(rows.records('UPDATE shards SET seq = 3 WHERE number = :shard')).toBe(1);
}

const FORGERIES: { name: string; make(rows: TamperedRows): void }[] = [
  { name: 'every-root-since', make: forge },
  {
    name: 'the-mark-as-well',
    make: (rows) => {
      forge(rows);
      materialise(rows);
    },
  },
  {
    name: 'the-log-emptied',
    make: (rows) => {
      forge(rows);
      materialise(rows);
      expect(rows.log('DELETE FROM entries WHERE shard = :shard')).toBeGreaterThan(0);
    },
  },
];

describe('anchored data changed while a later write waits for its anchor', () => {
  beforeAll(async () => {
    const all = [...FORGERIES.map(({ name }) => name), 'untouched'];
    const fill = async (name: string): Promise<void> => {
      await create(name);
      await upsert(name, [FIRST]);
      await upsert(name, [VICTIM]);
      await anchored(name);
    };
    await Promise.all(all.map(fill));
    relay.isDown = true;
    const answers = await Promise.all(all.map((name) => upsert(name, [LAST])));
    expect(new Set(answers)).toEqual(new Set(['pending']));
    await service.provec.stop();
    for (const { name, make } of FORGERIES) make(rowsOf(name));
    relay.isDown = false;
    await service.restart();
  });

  test.each(FORGERIES)('$name: a mismatch, and nothing newer is ever anchored', async ({ name }) => {
    // Before anyone has requested a verify, which would find the change.
    expect(await upsert(name, [{ ...LAST, id: 'after it' }])).toBe('pending');
    expect(await verify(name)).toMatchObject({ state: 'mismatch', verified: false, anchoredVersion: 2 });
  });

  test('it stays one through another restart, and an untouched collection is anchored', async () => {
    await anchored('untouched');
    await service.restart();
    const expectSame = async (name: string): Promise<void> => {
      expect(await upsert(name, [{ ...LAST, id: 'later still' }])).toBe('pending');
      expect(await verify(name)).toMatchObject({ state: 'mismatch', anchoredVersion: 2 });
    };
    await Promise.all(FORGERIES.map(({ name }) => expectSame(name)));
    expect(await verify('untouched')).toMatchObject({ state: 'match', anchoredVersion: 3, vectorCount: 3 });
  });
});

const CHECKPOINTS = ['anchored', 'newer-than-the-anchor', 'never-anchored'];
/** Also has a checkpoint newer than its anchor, which is not edited. */
const SOUND = 'sound';

describe('a checkpoint edited with all its checksums', () => {
  const [before, after] = [{ ...MANY[1_234]! }, { ...MANY[1_234]!, values: [1, 4_321, 5] }];

  let roots: { written: Buffer; edited: Buffer };

  async function checkpointsOf(name: string): Promise<[string, ...string[]]> {
    const shard = join(service.dataDir, 'checkpoints', ids.get(name)!, '0');
    const [first, ...others] = await readdir(shard);
    return [join(shard, first!), ...others];
  }

  /**
   * Changes one record in the only checkpoint of a collection, with the roots and checksums that
   * depend on it.
   */
  async function edit(name: string): Promise<void> {
    const [folder] = await checkpointsOf(name);
    const file = join(folder, 'records.bin');
    const digest = async () => sha256(await readFile(file)).toString('hex');
    const was = await digest();
    expect(tamperOnDisk(folder, float32Bytes(before.values), float32Bytes(after.values), /records/)).toBe(1);
    expect(tamperOnDisk(folder, roots.written.toString('base64'), roots.edited.toString('base64'), /records/)).toBe(1);
    expect(tamperOnDisk(folder, was, await digest(), /manifest/)).toBe(1);
  }

  beforeAll(async () => {
    const fill = async (name: string, from: number, to: number) => {
      for (let at = from; at < to; at += BATCH) await upsert(name, MANY.slice(at, at + BATCH));
    };
    const edited = MANY.map((record) => (record.id === before.id ? after : record));
    roots = { written: rootOf(MANY), edited: rootOf(edited) };
    for (const name of [...CHECKPOINTS, SOUND]) await create(name);
    const newer = ['newer-than-the-anchor', SOUND];
    await Promise.all([fill('anchored', 0, MANY.length), ...newer.map((name) => fill(name, 0, BATCH))]);
    await Promise.all(['anchored', ...newer].map(anchored));
    relay.isDown = true;
    await Promise.all([fill('never-anchored', 0, MANY.length), ...newer.map((name) => fill(name, BATCH, MANY.length))]);
    await service.provec.stop();
    for (const name of CHECKPOINTS) await edit(name);
    await service.restart();
  });

  test('an untouched one that is newer than its anchor is kept for later', async () => {
    expect(await valuesOf(SOUND, before.id)).toEqual(before.values);
    expect(await checkpointsOf(SOUND)).toHaveLength(1);
  });

  test.each(CHECKPOINTS)(
    'is not trusted, whatever is anchored by then: the written data is served (%s)',
    async (name) => {
      expect(await valuesOf(name, before.id)).toEqual(before.values);
    },
  );

  test('the written data is proven, and survives a restart', async () => {
    relay.isDown = false;
    await Promise.all(CHECKPOINTS.map(anchored));
    const onChainRoot = roots.written.toString('hex');
    for (const name of CHECKPOINTS)
      expect(await verify(name)).toMatchObject({ verified: true, vectorCount: MANY.length, onChainRoot });
    await service.restart();
    for (const name of CHECKPOINTS) {
      expect(await valuesOf(name, before.id)).toEqual(before.values);
      expect(await verify(name)).toMatchObject({ state: 'match' });
    }
  });
});

test('an entire store rolled back to an older copy is a mismatch, and cannot be written over the anchored state', async () => {
  await create('rolled-back');
  await upsert('rolled-back', [FIRST, VICTIM]);
  await anchored('rolled-back');
  await service.provec.stop();
  const copy = `${service.dataDir}.copy`;
  await cp(service.dataDir, copy, { recursive: true });
  await service.restart();
  await service.api('POST', '/collections/rolled-back/delete', { ids: [VICTIM.id] });
  await anchored('rolled-back');
  const { anchoredVersion, onChainRoot } = await verify('rolled-back');
  await service.provec.stop();
  await rm(service.dataDir, { recursive: true });
  await cp(copy, service.dataDir, { recursive: true });
  await rm(copy, { recursive: true });
  await service.restart();
  for (const record of [LAST, CHANGED]) expect(await upsert('rolled-back', [record])).toBe('pending');
  expect(await verify('rolled-back')).toMatchObject({
    state: 'mismatch',
    verified: false,
    anchoredVersion,
    onChainRoot,
  });
  await service.restart();
  expect(await verify('rolled-back')).toMatchObject({ state: 'mismatch', anchoredVersion, onChainRoot });
});
