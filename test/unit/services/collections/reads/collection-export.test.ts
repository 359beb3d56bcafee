import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { rootOfRecords } from '../../../../../client/index.ts';
import type { Caller } from '../../../../../contracts/actions/call.ts';
import type { ExportPart } from '../../../../../contracts/actions/collections.ts';
import { unavailable } from '../../../../../lib/errors.ts';
import { type ShardKey, shardKey } from '../../../../../lib/shard/key.ts';
import { type ShardSpec, shardSpecs } from '../../../../../lib/shard/spec.ts';
import {
  beginExport,
  continueExport,
  keepExport,
  leaveExport,
} from '../../../../../services/collections/reads/collection-export.ts';
import { splitBatch } from '../../../../../services/collections/shard-routing.ts';
import type { CollectionRow } from '../../../../../store/catalog.ts';
import { until } from '../../../../support/until.ts';
import { HostHarness } from '../../shards/worker/shard-host-harness.ts';

const RECORDS = 400;
/** Long enough that a shard's records fill a little more than three parts. */
const TEXT = 'x'.repeat(35_000);
const ROW: CollectionRow = {
  id: 'c0000000-0000-4000-8000-000000000001',
  accountId: 'a0000000-0000-4000-8000-000000000001',
  name: 'c',
  dimensions: 2,
  metric: 'cosine',
  shards: 4,
  replicas: 0,
  quantization: 'bf16',
  deletionProtection: false,
  createdAt: new Date(0).toISOString(),
};
/** More than half of a shard's timeout, and less than all of it. */
const PAUSE_MS = 20_000;

/**
 * The collection's shards on one host with a test clock. `before` may fail or wait instead of a
 * shard at the start of an export.
 */
function startShards(before = async (_index: number): Promise<void> => undefined) {
  const host = new HostHarness();
  const rests: { key: ShardKey; rest: string }[] = [];
  const keyOf = ({ collectionId, index }: ShardSpec) => shardKey(collectionId, index);
  const ids = Array.from({ length: RECORDS }, (_, at) => `r${at}`);
  const vectors = Float32Array.from({ length: 2 * RECORDS }, (_, at) => 1 + at);
  const metadata = ids.map((id) => JSON.stringify({ id, text: TEXT }));
  const parts = splitBatch({ ids, dimensions: 2, vectors, metadata }, ROW.shards);
  for (const spec of shardSpecs(ROW)) {
    host.result(host.send('create', { key: keyOf(spec), spec }));
    host.result(host.write(keyOf(spec), { kind: 'upsert', batch: parts.get(spec.index)! }));
  }
  host.settle();
  const caller: Caller = {
    async call(action, params) {
      const { shard, rest, pageMaxBytes } = params as { shard: ShardSpec; rest: string; pageMaxBytes: number };
      const key = keyOf(shard);
      if (action === 'shards.leave') return host.result(host.send('leave', { key, rest }));
      if (action === 'shards.next') return host.result(host.send('next', { key, rest, pageMaxBytes }));
      await before(shard.index);
      const read = host.send('export', {
        key,
        pageMaxBytes: (params as { read: { pageMaxBytes: number } }).read.pageMaxBytes,
      });
      host.turnsUntil(read);
      const answer = host.result<{ page: { rest: string } }>(read);
      rests.push({ key, rest: answer.page.rest });
      return answer;
    },
  };
  return {
    caller,
    /** Rewrites a record of the shard. */
    put: (index: number) => {
      const key = keyOf(shardSpecs(ROW)[index]!);
      const batch = {
        ids: [parts.get(index)!.ids[0]!],
        dimensions: 2,
        vectors: Float32Array.of(0, 1),
        metadata: ['{}'],
      };
      host.result(host.write(key, { kind: 'upsert', batch }));
    },
    /** Number of snapshots that shards took, and of those that they still keep. */
    taken: () => rests.length,
    kept: () =>
      rests
        .map(({ key, rest }) => host.result(host.send('next', { key, rest, pageMaxBytes: 0 })))
        .filter((page) => page !== null).length,
    pass: (ms: number) => {
      host.nowMs += ms;
    },
  };
}

test('while it is asked to, a shard keeps the rest of an export, however long a part takes', async () => {
  const { caller, pass } = startShards();
  let part: ExportPart = await beginExport(caller, caller, ROW);
  const { merkleRoot } = part.head!;
  const records = [...part.records];
  let parts = 1;
  for (; part.next !== undefined; parts++) {
    for (let times = 0; times < 5; times++) {
      pass(PAUSE_MS);
      await keepExport(caller, ROW, part.next);
    }
    pass(PAUSE_MS);
    part = await continueExport(caller, ROW, part.next);
    records.push(...part.records);
  }
  expect(parts).toBeGreaterThan(2);
  expect(part.end).toEqual({ count: RECORDS, merkleRoot });
  const whole = records.map(({ metadata, ...record }) => ({ ...record, metadata: JSON.parse(metadata) as object }));
  expect(rootOfRecords(whole)).toBe(merkleRoot);
});

test('the first part is small, and each later one at most four times as large as the one before', async () => {
  const { caller } = startShards();
  const sizeOf = ({ records }: ExportPart) => records.length * TEXT.length;
  let part: ExportPart = await beginExport(caller, caller, ROW);
  let maxBytes = 128 * 1024;
  for (let parts = 1; ; parts++) {
    // A page may exceed its limit by one record of its shard.
    expect(sizeOf(part)).toBeLessThanOrEqual(maxBytes + ROW.shards * TEXT.length);
    if (part.next === undefined) break;
    if (parts <= 3) expect(sizeOf(part)).toBeGreaterThan(maxBytes / 2);
    maxBytes = Math.min(4 * maxBytes, 4 * 1024 * 1024);
    part = await continueExport(caller, ROW, part.next);
  }
});

test('an export that no one reads or keeps is forgotten, and keeping it later is not an error', async () => {
  const { caller, pass } = startShards();
  const { next } = await beginExport(caller, caller, ROW);
  pass(2 * PAUSE_MS);
  expect(await keepExport(caller, ROW, next!)).toBeNull();
  await expect(continueExport(caller, ROW, next!)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
});

test('what will not be requested is released, even twice', async () => {
  const { caller, kept } = startShards();
  const first = await beginExport(caller, caller, ROW);
  const { next } = await continueExport(caller, ROW, first.next!);
  expect(kept()).toBe(4);
  expect(await leaveExport(caller, ROW, next!)).toBeNull();
  expect(kept()).toBe(0);
  expect(await leaveExport(caller, ROW, first.next!)).toBeNull();
});

test('if a shard fails, the snapshots of all others are released, however late they arrive', async () => {
  let comes = (): void => undefined;
  const late = new Promise<void>((resolve) => {
    comes = resolve;
  });
  const { caller, kept, taken } = startShards(async (index) => {
    if (index === 1) throw unavailable('The shard is away.');
    if (index === 2) await late;
  });
  await expect(beginExport(caller, caller, ROW)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  await until('those that have answered are left', () => taken() === 2 && kept() === 0);
  comes();
  await until('the late one is left', () => taken() === 3 && kept() === 0);
});

/** Reads an export to its end. */
async function exported(caller: Caller) {
  let part: ExportPart = await beginExport(caller, caller, ROW);
  const { merkleRoot, version } = part.head!;
  const records = [...part.records];
  while (part.next !== undefined) {
    part = await continueExport(caller, ROW, part.next);
    records.push(...part.records);
  }
  const whole = records.map(({ metadata, ...record }) => ({ ...record, metadata: JSON.parse(metadata) as object }));
  return { version, merkleRoot, rootOfRecords: rootOfRecords(whole) };
}

test('two exports of one version can have different roots, and each has its own', async () => {
  const one = startShards();
  one.put(0);
  const other = startShards(async (index) => {
    if (index !== 1) return;
    await nextTurn();
    other.put(0);
    other.put(1);
  });
  const [first, second] = [await exported(one.caller), await exported(other.caller)];
  expect(second.version).toBe(first.version);
  expect(second.merkleRoot).not.toBe(first.merkleRoot);
  for (const { merkleRoot, rootOfRecords: root } of [first, second]) expect(root).toBe(merkleRoot);
});
