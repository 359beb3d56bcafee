import { createHash } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { type AnchoredRoot, anchorText, collectionRoot } from '../../../../lib/shard/collection-root.ts';
import { EMPTY_HEAD, type ShardHead } from '../../../../lib/shard/head.ts';
import { shardKey } from '../../../../lib/shard/key.ts';
import {
  compareWithLedger,
  compareWithOwnLog,
  type LedgerComparison,
  witnessOf,
} from '../../../../scripts/reseal/ledger-comparison.ts';
import type { LedgerClient } from '../../../../services/anchoring/ledger/ledger-client.ts';
import type { LedgerAccount } from '../../../../services/anchoring/ledger/rpc-responses.ts';
import { changesOf, encodeEntryBody } from '../../../../services/shards/entry.ts';
import { type AnchorRow, emptyAnchorRow } from '../../../../store/anchors.ts';
import type { CollectionRow } from '../../../../store/catalog.ts';
import type { Store } from '../../../../store/port.ts';
import { newCollection } from '../../../contract/store-rows.ts';
import { referenceLeaf, referenceRoot } from '../../../support/reference-root.ts';
import { openTemporaryStore } from '../../../support/world.ts';

const SEAL_KEY = createHash('sha256').update('of a keypair').digest();
/** The collection of the current test, and its shard. */
let collection: CollectionRow;
let shard: string;

interface Record2 {
  id: string;
  values: number[];
}

let store: Store;
let destroy: () => Promise<void>;
let account: LedgerAccount;

/** Heads recorded in the log, by the number of writes; each write added one record. */
const heads: ShardHead[] = [];
const records: Record2[] = [1, 2, 3].map((at) => ({ id: `r${at}`, values: [1, at] }));

const leafOf = ({ id, values }: Record2) => referenceLeaf(id, values, {});

function headOf(count: number): ShardHead {
  const written = records.slice(0, count).map(leafOf);
  const hash = count === 1 ? written[0]!.leaf : Buffer.from(referenceRoot(written), 'hex');
  return { seq: count, version: count, type: count === 1 ? 'leaf' : 'inner', hash, count };
}

function bodyOf(record: Record2, leaf = leafOf(record).leaf): Uint8Array<ArrayBuffer> {
  const { id, values } = record;
  const upserts = [{ id, vector: Float32Array.from(values), metadata: Buffer.from('{}'), leaf }];
  return encodeEntryBody({ dimensions: values.length, upserts, deletes: [] });
}

async function append(seq: number, body: Uint8Array<ArrayBuffer>, head = heads[seq]!): Promise<void> {
  const entry = {
    shard,
    seq,
    epoch: 1,
    entryId: `entry ${seq}`,
    kind: 'write',
    head,
    tally: null,
    body,
  } as const;
  expect(await store.log.append(entry)).toBe('committed');
}

const anchored = (count: number, decisions = 0): AnchoredRoot => ({ ...collectionRoot([heads[count]!]), decisions });
const shows = (fields: AnchoredRoot | null): LedgerAccount => ({ status: 'found', fields });
const confirmed = (count: number) => ({
  ...anchored(count),
  cut: [heads[count]!],
  signature: 's',
  confirmedAt: '2026-11-01T00:00:00.000Z',
});

/** Changes the service's outbox row, sealed with the keypair's key or another one. */
async function row(change: Partial<AnchorRow>, key: Uint8Array = SEAL_KEY): Promise<void> {
  const { anchors } = witnessOf(ledger, store.anchors, key);
  expect(await anchors.add({ ...emptyAnchorRow(collection.id, 'address', 1), created: true, ...change })).toBe(true);
}

const ledger = { survey: async () => ({ account, slot: 1n }) } as unknown as LedgerClient;
const judged = (): Promise<LedgerComparison> =>
  compareWithLedger(store, collection, witnessOf(ledger, store.anchors, SEAL_KEY));
const why = (text: string) => ({ why: expect.stringContaining(text) });

beforeAll(async () => {
  ({ store, destroy } = await openTemporaryStore());
});
afterAll(() => destroy());

beforeEach(async () => {
  collection = newCollection({ dimensions: 2, shards: 1 });
  shard = shardKey(collection.id, 0);
  heads.splice(0, heads.length, EMPTY_HEAD, ...[1, 2, 3].map(headOf));
  for (const seq of [1, 2, 3]) await append(seq, bodyOf(records[seq - 1]!));
  await store.records.apply(shard, 0, 1, changesOf(bodyOf(records[0]!), 1));
  account = shows(anchored(3));
});

describe('the ledger confirms the stored data', () => {
  test('by the row', async () => {
    await row({ confirmed: confirmed(3) });
    expect(await judged()).toEqual({ state: 'held' });
  });

  test('by a transaction that was in flight when the service ended', async () => {
    const inFlight = { step: 'update' as const, signature: 's', wire: 'w', lastValidBlockHeight: '1', decisions: 0 };
    await row({ confirmed: confirmed(1), inFlight: { ...inFlight, cut: [heads[2]!] } });
    account = shows(anchored(2));
    expect(await judged()).toEqual({ state: 'held in part', version: 2, writes: 1 });
    account = shows(anchored(1));
    expect(await judged()).toEqual({ state: 'held in part', version: 1, writes: 2 });
  });

  test('even if someone removed the row', async () => {
    expect(await judged()).toEqual({ state: 'held' });
  });

  test('for roots that were no longer anchored, and stayed the same', async () => {
    await row({ lapsed: [anchored(3)] });
    expect(await judged()).toEqual({ state: 'held' });
  });

  test('for a collection without any writes', async () => {
    const empty = newCollection();
    account = { status: 'absent' };
    expect(await compareWithLedger(store, empty, witnessOf(ledger, store.anchors, SEAL_KEY))).toEqual({
      state: 'held',
    });
  });
});

test('writes after the confirmed root are counted, and confirmed by nothing', async () => {
  await row({ confirmed: confirmed(1) });
  account = shows(anchored(1));
  expect(await judged()).toEqual({ state: 'held in part', version: 1, writes: 2 });
});

describe('not held:', () => {
  test('what was never anchored', async () => {
    account = { status: 'absent' };
    expect(await judged()).toMatchObject({ state: 'not held', ...why('no root of it') });
  });

  test('a collection whose anchors were written under another keypair', async () => {
    await row({ confirmed: confirmed(3) }, createHash('sha256').update('of another').digest());
    expect(await judged()).toMatchObject({ state: 'not held', ...why('not written under this keypair') });
  });

  test('what was written after anchoring ended', async () => {
    await row({ lapsed: [anchored(1)] });
    account = shows(anchored(1));
    expect(await judged()).toMatchObject({ state: 'not held', ...why('no longer anchored') });
  });

  test("what an operator's unanchored decision covers", async () => {
    account = shows({ ...anchored(1), decisions: 7 });
    await row({ trusted: anchorText({ ...anchored(1), decisions: 7 }) });
    expect(await judged()).toMatchObject({ state: 'not held', ...why('decision') });
  });

  test('what is compared only with itself', async () => {
    expect(await compareWithOwnLog(store, collection, 'For a reason.')).toEqual({
      state: 'not held',
      why: 'For a reason.',
    });
  });
});

describe('contradictions:', () => {
  const expectContradiction = async (text: string): Promise<void> =>
    expect(await judged()).toMatchObject({ state: 'contradicts', ...why(text) });

  test.each<[string, () => LedgerAccount, string]>([
    ['another root of that version', () => shows({ ...anchored(3), merkleRoot: '0'.repeat(64) }), 'different root'],
    ['a later version', () => shows({ ...anchored(3), version: 4 }), 'never anchored'],
    ['an older version', () => shows(anchored(1)), 'older than version 3'],
    ['a decision that the row does not know', () => shows(anchored(3, 1)), "before an operator's decision"],
    ['no account', () => ({ status: 'absent' }), 'no longer holds the root'],
    ['an account of someone else', () => ({ status: 'foreign', reason: 'Of somebody.' }), 'Of somebody.'],
  ])('the ledger shows %s', async (_, shown, text) => {
    await row({ confirmed: confirmed(3) });
    account = shown();
    await expectContradiction(text);
  });

  test('records changed together with their leaf and every later root', async () => {
    const other = { id: 'r1', values: [9, 9] };
    const [{ leaf }, ...rest] = [other, records[1]!, records[2]!].map(leafOf);
    await store.records.apply(shard, 1, 2, [...changesOf(bodyOf(other), 1), ...changesOf(bodyOf(records[1]!), 2)]);
    await append(4, new Uint8Array(0), {
      ...heads[3]!,
      seq: 4,
      hash: Buffer.from(referenceRoot([{ key: leafOf(other).key, leaf }, ...rest]), 'hex'),
    });
    await row({ confirmed: confirmed(2) });
    account = shows(anchored(2));
    await expectContradiction("a different root from the ledger's");
  });

  test('a write after the confirmed root that does not count itself', async () => {
    const record = { id: 'r4', values: [1, 4] };
    const hash = Buffer.from(referenceRoot([...records, record].map(leafOf)), 'hex');
    await append(4, bodyOf(record), { ...heads[3]!, seq: 4, hash, count: 4 });
    await row({ confirmed: confirmed(3) });
    await expectContradiction('a different root for version 3');
  });

  test('records that are ahead of the confirmed root', async () => {
    await store.records.apply(shard, 1, 2, changesOf(bodyOf(records[1]!), 2));
    await row({ confirmed: confirmed(1) });
    account = shows(anchored(1));
    await expectContradiction('begins after the root');
  });

  test('a record whose bytes do not give its leaf', async () => {
    const { leaf } = leafOf(records[0]!);
    await store.records.apply(shard, 1, 3, changesOf(bodyOf({ id: 'r1', values: [9, 9] }, leaf), 3));
    await expectContradiction('damaged');
  });

  test('a vector of another length, and a collection of other shards', async () => {
    await row({ confirmed: confirmed(3) });
    const { anchors } = witnessOf(ledger, store.anchors, SEAL_KEY);
    const as = (change: object) => compareWithLedger(store, { ...collection, ...change }, { ledger, anchors });
    expect(await as({ dimensions: 3 })).toMatchObject({ state: 'contradicts', ...why('another length') });
    expect(await as({ shards: 2 })).toMatchObject({ state: 'contradicts', ...why('It has 2 shards') });
  });

  test('records that are past the end of their log', async () => {
    await store.records.apply(shard, 1, 9, []);
    await expectContradiction('are of 9, but its log ends at 3');
    expect(await compareWithOwnLog(store, collection, '')).toMatchObject({ state: 'contradicts' });
  });
});
