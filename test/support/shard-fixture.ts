import pino from 'pino';
import type { RecordBatch } from '../../lib/records/batch.ts';
import type { ShardSpec } from '../../lib/shard/spec.ts';
import { type Clock, SYSTEM_CLOCK } from '../../lib/time/clock.ts';
import { type Config, readConfig } from '../../process/config.ts';
import { runtimeOf } from '../../process/runtime.ts';
import { ShardNode } from '../../services/shards/shard-node.ts';
import type { Store } from '../../store/port.ts';
import { SeverableStore } from './severed-store.ts';
import { openTemporaryStore } from './world.ts';

/** A fixture's catalog contains the collections of `specOf` 1 to this number. */
const COLLECTIONS = 32;
export const ACCOUNT = 'a0000000-0000-4000-8000-000000000001';

export function specOf(number: number, changes: Partial<ShardSpec> = {}): ShardSpec {
  const collectionId = `c0000000-0000-4000-8000-${String(number).padStart(12, '0')}`;
  return {
    collectionId,
    accountId: ACCOUNT,
    index: 0,
    of: 1,
    dimensions: 4,
    metric: 'cosine',
    quantization: 'bf16',
    ...changes,
  };
}

/** Records with distinct vectors, by their number. */
export function batchOf(ids: string[], seed = 1): RecordBatch {
  const vectors = new Float32Array(ids.length * 4);
  ids.forEach((_, row) => {
    vectors.set([1, row + 1, seed, 1 / (row + 1)], row * 4);
  });
  return { ids, dimensions: 4, vectors, metadata: ids.map((id) => JSON.stringify({ id, seed })) };
}

export interface ShardFixture {
  /** Folder of the store's files. */
  folder: string;
  store: Store;
  node: ShardNode;
  halts: { collectionId: string; reason: string }[];
  /** Warnings in the node's log. */
  warnings: Record<string, unknown>[];
  /**
   * Ends the node without saving anything, as a kill would, and starts another on the same store.
   */
  crash(): Promise<void>;
  /** Ends the node as SIGTERM would, and starts another. */
  restart(): Promise<void>;
  end(): Promise<void>;
}

/**
 * A shard node over a real store in a temporary folder. `wrap` may inject faults into the store.
 */
export async function shardFixture(
  environment: Record<string, string> = {},
  wrap: (store: Store) => Store = (store) => store,
  clock: Clock = SYSTEM_CLOCK,
): Promise<ShardFixture> {
  const { store, folder, destroy } = await openTemporaryStore();
  const config: Config = readConfig({
    PROVEC_DATA_DIR: folder,
    PROVEC_WORKERS: '1',
    PROVEC_DISK_RESERVE_MB: '0',
    ...environment,
  });
  await store.catalog.createAccount({
    id: ACCOUNT,
    name: 'test',
    plan: 'enterprise',
    createdAt: new Date(0).toISOString(),
  });
  const created = Array.from({ length: COLLECTIONS }, (_, at) => {
    const { collectionId: id, accountId, dimensions, metric, quantization } = specOf(at + 1);
    const options = { shards: 1, replicas: 0, deletionProtection: false, createdAt: new Date(0).toISOString() };
    const row = { id, accountId, name: `c${at + 1}`, dimensions, metric, quantization, ...options };
    return store.catalog.createCollection(row, null);
  });
  await Promise.all(created);
  const halts: ShardFixture['halts'] = [];
  const warnings: ShardFixture['warnings'] = [];
  const isShown = process.env.PROVEC_TEST_LOG !== undefined;
  const log = pino(
    { level: process.env.PROVEC_TEST_LOG ?? 'warn' },
    {
      write(line: string) {
        const said = JSON.parse(line) as Record<string, unknown>;
        if (said.level === pino.levels.values.warn) warnings.push(said);
        if (isShown) process.stdout.write(line);
      },
    },
  );
  let reach: SeverableStore;
  const start = () => {
    reach = new SeverableStore(wrap(store));
    return new ShardNode(runtimeOf({ config, store: reach.store, clock, log }), (collectionId, reason) =>
      halts.push({ collectionId, reason }),
    );
  };
  const fixture: ShardFixture = {
    folder,
    store,
    node: start(),
    halts,
    warnings,
    async crash() {
      reach.sever();
      await fixture.node.stop();
      fixture.node = start();
    },
    async restart() {
      await fixture.node.stop();
      fixture.node = start();
    },
    async end() {
      await fixture.node.stop();
      await destroy();
    },
  };
  return fixture;
}
