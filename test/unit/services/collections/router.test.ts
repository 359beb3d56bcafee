import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { verifyProof } from '../../../../client/index.ts';
import { call } from '../../../../contracts/actions/call.ts';
import { requestsOf } from '../../../../contracts/requests/requests.ts';
import { LIMITS } from '../../../../lib/limits.ts';
import type { PlanName } from '../../../../lib/plans.ts';
import { collectionRoot } from '../../../../lib/shard/collection-root.ts';
import type { ShardMatch } from '../../../../lib/shard/match.ts';
import { mergeLists } from '../../../../services/collections/reads/merge-lists.ts';
import { ranksBefore } from '../../../../services/collections/reads/shard-reader.ts';
import { shardIndexOf, splitBatch, splitIds } from '../../../../services/collections/shard-routing.ts';
import { emptyAnchorRow } from '../../../../store/anchors.ts';
import { until } from '../../../support/until.ts';
import { Harness } from './harness.ts';

let harness: Harness;
let collections = 0;

const SIGNATURE = '1'.repeat(64);

beforeAll(async () => {
  harness = await Harness.open({ PROVEC_PLANS: '{"free": {"vectors": 10, "writes": 100, "queries": 3}}' });
});
afterAll(() => harness.close());
beforeEach(() => {
  harness.shards.fault = null;
  harness.anchoring.submitted.length = 0;
  harness.anchoring.confirmations.length = 0;
  harness.anchoring.answer = () => ({ status: 'pending', signature: null, explorerUrl: null });
});

async function collection(plan: PlanName, shards = 4) {
  const target = { accountId: await harness.account(plan), name: `c${collections++}` };
  const { id } = await harness.call('collections.create', { ...target, dimensions: 2, metric: 'dot', shards });
  return { ...target, collectionId: id };
}
const records = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, at) => ({ id: `r${from + at}`, values: [from + at, 1] }));

describe('routing', () => {
  test('every row goes to the shard of its keyHash prefix, once', () => {
    const ids = Array.from({ length: 500 }, (_, at) => `id ${at}`);
    const vectors = Float32Array.from(ids.flatMap((_, at) => [at, -at]));
    const batch = { ids, dimensions: 2, vectors, metadata: ids.map((id) => `"${id}"`) };
    for (const shards of [1, 2, 64, 256]) {
      const seen = new Set<string>();
      for (const [index, part] of splitBatch(batch, shards)) {
        expect(part.vectors).toHaveLength(part.ids.length * 2);
        part.ids.forEach((id, row) => {
          const at = ids.indexOf(id);
          expect(shardIndexOf(id, shards)).toBe(index);
          expect([...part.vectors.subarray(2 * row, 2 * row + 2), part.metadata[row]]).toEqual([at, -at, `"${id}"`]);
          seen.add(id);
        });
      }
      expect(seen.size).toBe(ids.length);
      expect([...splitIds(ids, shards).keys()].every((index) => index >= 0 && index < shards)).toBe(true);
    }
    expect(splitBatch(batch, 1).get(0)).toBe(batch);
  });

  test('merging equals sorting everything, whatever the pages, and requests no page that it does not need', async () => {
    const id = fc.string({ unit: fc.constantFrom('a', '\uffee', '\u{1f600}', 'ü') });
    const scored = fc.record({ id, score: fc.integer({ min: 0, max: 5 }) });
    // Different distances that all give a score of 1.
    const placed = fc.record({
      id,
      score: fc.constant(1),
      distance: fc.integer({ min: 0, max: 5 }).map((n) => n / 1e20),
    });
    const listsOf = (match: typeof scored) =>
      fc.array(fc.array(match, { maxLength: 20 }), { minLength: 1, maxLength: 9 });
    const rank = (a: ShardMatch, b: ShardMatch) =>
      b.score - a.score ||
      (a.distance ?? 0) - (b.distance ?? 0) ||
      Buffer.compare(Buffer.from(a.id), Buffer.from(b.id));
    const lists: fc.Arbitrary<ShardMatch[][]> = fc.oneof(listsOf(scored), listsOf(placed));
    const sizes = { topK: fc.integer({ min: 1, max: 40 }), page: fc.integer({ min: 1, max: 8 }) };
    await fc.assert(
      fc.asyncProperty(lists, fc.record(sizes), async (lists, { topK, page }) => {
        const best = lists.flat().sort(rank).slice(0, topK);
        const paged = lists.map((list) => {
          const left = list.toSorted(rank);
          let told = 0;
          const more = async () => {
            // All matches returned so far are among the best, so the next may be, too.
            expect(told).toBeLessThanOrEqual(best.filter((match) => list.includes(match)).length);
            const next = left.splice(0, page);
            told += next.length;
            return next;
          };
          const items = left.splice(0, page);
          told = items.length;
          return { items, more };
        });
        expect(await mergeLists(paged, topK, ranksBefore)).toEqual(best);
      }),
    );
  });
});

describe('writing', () => {
  test('a free plan gets the root and no anchor', async () => {
    const target = await collection('free');
    const result = await harness.call('collections.upsert', { ...target, records: records(0, 5) });
    const cut = [...(await harness.store.log.heads(target.collectionId)).values()];
    expect(result).toEqual({
      upsertedCount: 5,
      merkleRoot: (await harness.call('collections.get', target)).merkleRoot,
      version: cut.length,
      vectorCount: 5,
      ledgerProgram: 'TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb',
      ledgerTx: null,
      ledgerExplorerUrl: null,
      anchor: { status: 'none' },
    });
    expect(harness.anchoring.submitted).toEqual([]);
  });

  test('an anchored plan submits the cut that contains the write', async () => {
    const target = await collection('pro');
    harness.anchoring.answer = () => ({ status: 'confirmed', signature: 'Sig', explorerUrl: 'https://x' });
    await harness.call('collections.upsert', { ...target, records: records(0, 20) });
    const result = await harness.call('collections.upsert', { ...target, records: records(20, 21) });
    expect(result).toMatchObject({ ledgerTx: 'Sig', ledgerExplorerUrl: 'https://x', anchor: { status: 'confirmed' } });
    const { cut } = harness.anchoring.submitted.at(-1)!;
    const heads = await harness.store.log.heads(target.collectionId);
    expect(cut.map(({ seq }) => seq)).toEqual([0, 1, 2, 3].map((index) => heads.get(index)?.seq ?? 0));
    expect(collectionRoot(cut)).toMatchObject({ merkleRoot: result.merkleRoot, version: result.version });
    expect(result.vectorCount).toBe(21);
  });

  test('a write succeeds when anchoring is broken', async () => {
    const target = await collection('pro');
    harness.anchoring.answer = () => {
      throw new Error('broken');
    };
    const result = await harness.call('collections.upsert', { ...target, records: records(0, 3) });
    expect(result).toMatchObject({ upsertedCount: 3, ledgerTx: null, anchor: { status: 'pending' } });
  });

  test("a write succeeds when another shard's owner does not answer for its head", async () => {
    const target = await collection('pro');
    await harness.call('collections.upsert', { ...target, records: records(0, 20) });
    const id = 'r0';
    const index = [0, 1, 2, 3].find((at) => at !== shardIndexOf(id, 4))!;
    harness.shards.fault = { action: 'shards.head', index, when: 'before' };
    const result = await harness.call('collections.upsert', { ...target, records: [{ id, values: [9, 9] }] });
    expect(result.merkleRoot).toBe((await harness.call('collections.get', target)).merkleRoot);
  });

  test('concurrent writes ask each shard for its head a few times in total, and each answer contains earlier writes', async () => {
    const target = await collection('pro');
    const gate = Promise.withResolvers<void>();
    const { shards } = harness;
    shards.calls.length = 0;
    shards.hang = { action: 'shards.head', until: gate.promise };
    const heads = () => shards.calls.filter((action) => action === 'shards.head').length;
    const written = () => shards.calls.filter((action) => action === 'shards.upsert').length;
    const ids = Array.from({ length: 40 }, (_, at) => at);
    const answers = Promise.all(
      ids.map((at) => harness.call('collections.upsert', { ...target, records: records(at, at + 1) })),
    );
    while (written() < ids.length) await new Promise(setImmediate);
    gate.resolve();
    shards.hang = null;
    for (const { vectorCount } of await answers) expect(vectorCount).toBeGreaterThan(0);
    // One call in flight and one next call for each of 4 shards. Separate calls for each write
    // would be 3 per write: 120.
    expect(heads()).toBeLessThanOrEqual(30);
    const last = await harness.call('collections.upsert', { ...target, records: records(40, 41) });
    expect(last.vectorCount).toBe(41);
  });

  test('if one shard fails the other parts stay committed, the error is reported, they are anchored, and a retry completes the write', async () => {
    const target = await collection('pro');
    const index = shardIndexOf('r0', 4);
    harness.shards.fault = { action: 'shards.upsert', index, when: 'before' };
    const write = () => harness.call('collections.upsert', { ...target, records: records(0, 20) });
    await expect(write()).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    while (harness.anchoring.submitted.length === 0) await new Promise(setImmediate);
    const { cut, waitMs } = harness.anchoring.submitted[0];
    expect(cut[index].seq).toBe(0);
    expect(cut.filter(({ seq }) => seq === 1)).toHaveLength(3);
    expect(waitMs).toBe(0);
    harness.shards.fault = null;
    expect(await write()).toMatchObject({ upsertedCount: 20, vectorCount: 20 });
  });

  test('a write that no shard accepts begins no anchoring', async () => {
    const target = await collection('pro');
    const write = () => harness.call('collections.upsert', { ...target, records: records(0, 20) });
    await write();
    harness.shards.fault = { action: 'shards.upsert', index: 'every', when: 'before' };
    await expect(write()).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    harness.shards.fault = null;
    await write();
    // Both writes that succeeded, which waited for their anchors.
    expect(harness.anchoring.submitted.map(({ waitMs }) => waitMs > 0)).toEqual([true, true]);
  });

  test('failed writes of a collection share the anchoring of what they committed', async () => {
    const target = await collection('pro');
    const { log } = harness.store;
    const { heads } = log;
    let reads = 0;
    log.heads = () => {
      reads++;
      return Promise.reject(new Error('the store is away'));
    };
    harness.shards.fault = { action: 'shards.upsert', index: shardIndexOf('r0', 4), when: 'before' };
    const write = () => harness.call('collections.upsert', { ...target, records: records(0, 20) });
    for (let at = 0; at < 10; at++) await expect(write()).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    expect(reads).toBe(1);
    log.heads = heads;
    await until('the state is submitted', () => harness.anchoring.submitted.length > 0);
    expect(harness.anchoring.submitted).toMatchObject([{ waitMs: 0, collectionId: target.collectionId }]);
  });

  test('deletes count what existed, once', async () => {
    const target = await collection('free');
    await harness.call('collections.upsert', { ...target, records: records(0, 5) });
    const result = await harness.call('collections.delete', { ...target, ids: ['r0', 'r1', 'r0', 'absent'] });
    expect(result).toMatchObject({ deleted: true, deletedCount: 2, vectorCount: 3, anchor: { status: 'none' } });
  });

  test.each([
    ['delete', 'collections.delete', { ids: ['r0', 'absent'] }, { deleted: false, deletedCount: 1 }],
    [
      'update',
      'collections.updateRecords',
      { updates: [{ id: 'r0', setMetadata: { a: 1 } }] },
      { matchedCount: 1, updatedCount: 0 },
    ],
    ['delete by filter', 'collections.delete', { filter: { a: 1 } }, { deleted: false, deletedCount: 5 }],
    [
      'update by filter',
      'collections.updateRecords',
      { filter: { a: 1 }, setMetadata: { a: 2 } },
      { matchedCount: 5, updatedCount: 0 },
    ],
  ] as const)(
    'a dry run of a %s reports the state, requests no anchor, and waits briefly for shards',
    async (_, action, asked, found) => {
      const target = await collection('pro');
      const written = await harness.call('collections.upsert', { ...target, records: records(0, 5) });
      harness.anchoring.submitted.length = 0;
      harness.shards.waits.clear();
      harness.anchoring.answer = () => ({ status: 'confirmed', signature: 'Sig', explorerUrl: null });
      const { merkleRoot, version, vectorCount } = written;
      const shortWait = { meta: { shardWaitMs: 300 } };
      expect(await harness.call(action, { ...target, ...asked, dryRun: true }, shortWait)).toMatchObject({
        ...found,
        ...{ merkleRoot, version, vectorCount, ledgerTx: 'Sig', anchor: { status: 'confirmed' } },
      });
      expect(harness.anchoring.submitted).toEqual([]);
      expect(harness.anchoring.confirmations.map(({ waitMs }) => waitMs)).toEqual([0]);
      expect([...harness.shards.waits]).toEqual([300]);
    },
  );

  test('refuses a batch of other dimensions', async () => {
    const target = await collection('free');
    const batch = { ids: ['x'], dimensions: 3, vectors: new Float32Array(3), metadata: ['{}'] };
    const body = { records: batch, namespace: '' };
    await expect(call(harness.broker, 'collections.upsert', { ...target, body })).rejects.toMatchObject({
      code: 'DIMENSION_MISMATCH',
    });
  });
});

describe('plan limits', () => {
  test('replacing fits a full account, one new record does not, and no reservation is left', async () => {
    const target = await collection('free');
    const upsert = (from: number, to: number) =>
      harness.call('collections.upsert', { ...target, records: records(from, to) });
    await upsert(0, 10);
    expect(await upsert(0, 10)).toMatchObject({ upsertedCount: 10, vectorCount: 10 });
    await expect(upsert(9, 11)).rejects.toMatchObject({ code: 'PLAN_LIMIT_REACHED' });
    await harness.call('collections.delete', { ...target, ids: ['r0'] });
    expect(await upsert(9, 11)).toMatchObject({ vectorCount: 10 });
  });

  test('a failed write costs nothing', async () => {
    const target = await collection('free', 1);
    harness.shards.fault = { action: 'shards.upsert', index: 0, when: 'before' };
    for (let at = 0; at < 15; at++) {
      await expect(harness.call('collections.upsert', { ...target, records: records(0, 10) })).rejects.toMatchObject({
        code: 'UNAVAILABLE',
      });
    }
    harness.shards.fault = null;
    await harness.call('collections.upsert', { ...target, records: records(0, 10) });
    const { usage } = await harness.call('metering.usage', { accountId: target.accountId });
    expect(usage).toMatchObject({ write_count: 10, vector_count: 10 });
  });

  test('failed and refused queries cost nothing', async () => {
    const target = await collection('free');
    const query = () => harness.call('collections.query', { ...target, vector: [1, 1] });
    harness.shards.fault = { action: 'shards.query', index: 2, when: 'before' };
    for (let at = 0; at < 5; at++) await expect(query()).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    harness.shards.fault = null;
    await expect(harness.call('collections.query', { ...target, vector: [1] })).rejects.toMatchObject({
      code: 'DIMENSION_MISMATCH',
    });
    await expect(harness.call('collections.query', { ...target, id: 'absent' })).rejects.toMatchObject({
      code: 'RECORD_NOT_FOUND',
    });
    for (let at = 0; at < 3; at++) await query();
    await expect(query()).rejects.toMatchObject({ code: 'PLAN_LIMIT_REACHED' });
  });
});

describe('reading', () => {
  test('a query merges all shards, also by the id of a record', async () => {
    const target = await collection('pro');
    await harness.call('collections.upsert', { ...target, records: records(0, 40) });
    const { matches } = await harness.call('collections.query', { ...target, vector: [1, 0], topK: 5 });
    expect(matches.map(({ id }) => id)).toEqual(['r39', 'r38', 'r37', 'r36', 'r35']);
    expect(await harness.call('collections.query', { ...target, id: 'r7', topK: 1 })).toMatchObject({
      matches: [{ id: 'r39' }],
    });
  });

  test.each([
    ['vector', {}],
    ['vector', { vector: [1, 2], id: 'r0' }],
    ['topK', { vector: [1, 2], topK: 0 }],
    ['topK', { vector: [1, 2], topK: 10_001 }],
    ['topK', { vector: [1, 2], topK: null }],
    ['includeValues', { vector: [1, 2], includeValues: 1 }],
    ['exact', { vector: [1, 2], exact: 'yes' }],
    ['scoreThreshold', { vector: [1, 2], scoreThreshold: '1' }],
  ])('refuses an invalid %s', async (path, query) => {
    const target = await collection('free');
    await expect(harness.call('collections.query', { ...target, ...(query as object) })).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      details: [expect.objectContaining({ path })],
    });
  });

  test('refuses an invalid filter', async () => {
    const target = await collection('free');
    await expect(
      harness.call('collections.query', { ...target, vector: [1, 2], filter: { a: { $near: 1 } } }),
    ).rejects.toMatchObject({ code: 'INVALID_FILTER' });
  });

  test('the shards get the filter parsed', async () => {
    const target = await collection('free', 1);
    const sent = { vector: [1, 0], filter: { a: 1 } };
    await harness.call('collections.query', { ...target, ...sent });
    await harness.call('collections.queries', { ...target, queries: [sent] });
    const parsed = expect.objectContaining({ filter: { op: 'in', field: 'a', values: [1] } });
    expect(harness.shards.queries.slice(-2)).toEqual([parsed, parsed]);
  });

  test('a body that differs from its type is refused', async () => {
    const target = await collection('free', 1);
    const body = requestsOf(LIMITS).count.decode({});
    expect(await call(harness.broker, 'collections.get', target)).toMatchObject({ vector_count: 0 });
    for (const wrong of [{ namespace: 7 }, { filter: 'a' }, { allNamespaces: undefined }, { consistency: null }])
      await expect(
        harness.broker.call('collections.count', { ...target, body: { ...body, ...wrong } }),
      ).rejects.toMatchObject({ name: 'ValidationError' });
  });

  test('fetch keeps the requested order and leaves out absent records', async () => {
    const target = await collection('free');
    await harness.call('collections.upsert', { ...target, records: records(0, 9) });
    const found = await harness.call('collections.fetch', { ...target, ids: ['r8', 'absent', 'r1', 'r8', 'r5'] });
    expect(found.map(({ id }) => id)).toEqual(['r8', 'r1', 'r5']);
  });

  test.each([1, 2, 8, 256])(
    'proofs over %i shards satisfy the offline verifier, from no record to many',
    async (shards) => {
      const target = await collection('enterprise', shards);
      for (const count of [0, 1, 2, 3, 8, 40]) {
        if (count > 0) await harness.call('collections.upsert', { ...target, records: records(0, count) });
        const { merkleRoot, version } = await harness.call('collections.get', target);
        for (let at = 0; at < 48; at++) {
          const proof = await harness.call('collections.proof', { ...target, id: `r${at}` });
          expect(proof).toMatchObject({ merkleRoot, version, present: at < count, ledgerAddress: 'Address' });
          const expected = at < count ? { values: [at, 1], metadata: {} } : {};
          expect(verifyProof(merkleRoot, proof, expected)).toBe(at < count ? 'present' : 'absent');
        }
      }
    },
  );

  test('a proof leads to the anchored root while its shard is unchanged', async () => {
    const target = await collection('pro', 2);
    await harness.call('collections.upsert', { ...target, records: records(0, 20) });
    const { cut } = harness.anchoring.submitted.at(-1)!;
    const root = collectionRoot(cut);
    const confirmed = { cut, ...root, decisions: 0, signature: SIGNATURE, confirmedAt: '2026-11-21T00:00:00.000Z' };
    const row = { ...emptyAnchorRow(target.collectionId, 'Address', 1), created: true };
    harness.anchoring.rows.set(target.collectionId, { ...row, confirmed });
    const moved = records(0, 20).find(({ id }) => shardIndexOf(id, 2) === 0)!;
    const still = records(0, 20).find(({ id }) => shardIndexOf(id, 2) === 1)!;
    const newest = await harness.call('collections.delete', { ...target, ids: [moved.id] });
    const anchored = await harness.call('collections.proof', { ...target, id: still.id });
    expect([anchored.merkleRoot, anchored.ledgerTx]).toEqual([root.merkleRoot, SIGNATURE]);
    expect(verifyProof(root.merkleRoot, anchored, { values: still.values, metadata: {} })).toBe('present');
    const current = await harness.call('collections.proof', { ...target, id: moved.id });
    expect([current.merkleRoot, current.ledgerTx]).toEqual([newest.merkleRoot, null]);
    expect(verifyProof(newest.merkleRoot, current)).toBe('absent');
    expect((await harness.call('collections.get', target)).anchor).toMatchObject({
      status: 'pending',
      version: root.version,
      ledgerTx: SIGNATURE,
    });
  });

  test('pages of anchors follow each other without gaps', async () => {
    const target = await collection('pro');
    harness.anchoring.history = Array.from({ length: 7 }, (_, at) => ({
      position: 7 - at,
      version: 70 - 10 * at,
      decisions: 0,
      isSealed: true,
      merkleRoot: 'ab'.repeat(32),
      vectorCount: at,
      signature: `Sig${at}`,
      confirmedAt: '2026-11-21T00:00:00.000Z',
      explorerUrl: `https://x/${at}`,
    }));
    const versions: number[] = [];
    let cursor: string | undefined;
    do {
      const page = await harness.call('collections.anchors', { ...target, limit: 3, cursor });
      versions.push(...page.anchors.map(({ version }) => version));
      cursor = page.nextCursor ?? undefined;
    } while (cursor !== undefined);
    expect(versions).toEqual([70, 60, 50, 40, 30, 20, 10]);
    for (const bad of [{ limit: 0 }, { limit: 1_001 }, { cursor: 'x' }, { cursor: '' }]) {
      await expect(harness.call('collections.anchors', { ...target, ...bad })).rejects.toMatchObject({
        code: 'INVALID_ARGUMENT',
      });
    }
  });
});
