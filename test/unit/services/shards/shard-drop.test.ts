import { existsSync } from 'node:fs';
import { afterEach, expect, test } from '@jest/globals';
import { shardKey } from '../../../../lib/shard/key.ts';
import type { Store } from '../../../../store/port.ts';
import { readAll } from '../../../contract/store-rows.ts';
import { batchOf, type ShardFixture, shardFixture, specOf } from '../../../support/shard-fixture.ts';
import { untilStoreIdle } from '../../../support/store-watch.ts';
import { until } from '../../../support/until.ts';

const SPEC = specOf(1);
const KEY = shardKey(SPEC.collectionId, 0);

let fixture: ShardFixture;
afterEach(() => fixture.end());

/** Holds calls until it is opened. */
class Gate {
  reached = 0;
  open: () => void = () => undefined;
  #opened = new Promise<void>((resolve) => {
    this.open = resolve;
  });

  async pass(): Promise<void> {
    this.reached++;
    await this.#opened;
  }
}

async function expectNothingLeft(): Promise<void> {
  const { log, records, checkpoints } = fixture.store;
  expect(await log.head(KEY)).toBeNull();
  expect(await log.firstSeq(KEY)).toBeNull();
  expect(await records.appliedSeq(KEY)).toBe(0);
  expect(await readAll(await records.scan(KEY))).toEqual(new Map());
  expect(await checkpoints.list(KEY)).toEqual([]);
}

/**
 * Drops the collection while `gate` is shut: its data must not be touched before the gate opens.
 */
async function dropBehind(gate: Gate, dropCalls: () => number): Promise<void> {
  await fixture.store.catalog.dropCollection(SPEC.collectionId, true);
  const dropping = fixture.node.drop(SPEC.collectionId);
  // Lets everything run that does not wait for the gate.
  await untilStoreIdle();
  const early = dropCalls();
  gate.open();
  await dropping;
  expect(early).toBe(0);
  expect(dropCalls()).toBe(1);
}

test('a drop while records are being materialised leaves none of them', async () => {
  const gate = new Gate();
  let drops = 0;
  fixture = await shardFixture({}, (store: Store) => ({
    ...store,
    records: {
      async apply(...given) {
        await gate.pass();
        await store.records.apply(...given);
      },
      appliedSeq: (key) => store.records.appliedSeq(key),
      removeForeign: (...given) => store.records.removeForeign(...given),
      scan: (key) => store.records.scan(key),
    },
    async dropCollectionData(collectionId) {
      drops++;
      await store.dropCollectionData(collectionId);
    },
  }));
  await fixture.node.upsert({ shard: SPEC, batch: batchOf(['a', 'b', 'c']) });
  await until('a pass is under way', () => gate.reached > 0);
  await fixture.node.delete({ shard: SPEC, ids: ['b'] });
  await dropBehind(gate, () => drops);
  await expectNothingLeft();
});

test('a drop waits for the running checkpoint, and leaves nothing of it', async () => {
  const gate = new Gate();
  let drops = 0;
  const staged: string[] = [];
  fixture = await shardFixture({ PROVEC_MEMORY_LIMIT_MB: '64' }, (store: Store) => ({
    ...store,
    checkpoints: {
      async stage(key) {
        const folder = await store.checkpoints.stage(key);
        staged.push(folder);
        await gate.pass();
        return folder;
      },
      discard: (folder) => store.checkpoints.discard(folder),
      put: (...given) => store.checkpoints.put(...given),
      prune: (...given) => store.checkpoints.prune(...given),
      list: (key) => store.checkpoints.list(key),
      fetch: (...given) => store.checkpoints.fetch(...given),
      release: (folder) => store.checkpoints.release(folder),
    },
    async dropCollectionData(collectionId) {
      drops++;
      await store.dropCollectionData(collectionId);
    },
  }));
  const ids = Array.from({ length: 2_500 }, (_, at) => `r${at}`);
  await fixture.node.upsert({ shard: SPEC, batch: batchOf(ids) });
  // A write without room closes idle shards, with a checkpoint.
  const vectors = new Float32Array(12_000_000);
  const large = fixture.node
    .upsert({ shard: specOf(2), batch: { ids: ['large'], dimensions: vectors.length, vectors, metadata: ['{}'] } })
    .catch((error: unknown) => error);
  await until('a checkpoint is under way', () => gate.reached > 0);
  await dropBehind(gate, () => drops);
  expect(await large).toMatchObject({ code: 'OUT_OF_CAPACITY' });
  await expectNothingLeft();
  expect(existsSync(staged[0])).toBe(false);
});
