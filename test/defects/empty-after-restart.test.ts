/** Seen in earlier systems: a collection is there after a restart, and empty. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { invariant } from '../support/invariant.ts';
import { referenceLeaf, referenceRoot } from '../support/reference-root.ts';
import { type ServiceProcess, startProcess } from '../support/service-process.ts';

const COLLECTIONS = [
  { name: 'small', shards: 1, count: 3 },
  { name: 'sharded', shards: 8, count: 500 },
  // Large enough for checkpoints and an index.
  { name: 'indexed', shards: 1, count: 3_000 },
];
const record = (at: number) => ({ id: `r${at}`, values: [(at % 256) - 128 || 0.5, 1], metadata: { at } });
const ROOTS = new Map(
  COLLECTIONS.map(({ name, count }) => {
    const leaves = Array.from({ length: count }, (_, at) => record(at)).map(({ id, values, metadata }) =>
      referenceLeaf(id, values, metadata),
    );
    return [name, referenceRoot(leaves)];
  }),
);

describe.each(['SIGTERM', 'SIGKILL'] as const)('after %s', (signal) => {
  let service: ServiceProcess;

  beforeAll(async () => {
    service = await startProcess({ PROVEC_LEDGER: 'off' });
    for (const { name, shards, count } of COLLECTIONS) {
      await service.api('POST', '/collections', { name, shards, dimensions: 2 });
      for (let at = 0; at < count; at += 1_000) {
        const records = Array.from({ length: Math.min(1_000, count - at) }, (_, i) => record(at + i));
        await service.api('POST', `/collections/${name}/upsert`, { records });
      }
    }
    await service.kill(signal);
    await service.restart();
  });
  afterAll(() => service.dispose());

  const isAllThere = async ({ name, count }: (typeof COLLECTIONS)[number]) => {
    const { body } = await service.api('GET', `/collections/${name}`);
    expect(body.collection).toMatchObject({ vector_count: count, merkleRoot: ROOTS.get(name) });
    const last = record(count - 1);
    const fetched = await service.api('POST', `/collections/${name}/fetch`, { ids: ['r0', last.id] });
    expect(fetched.body).toEqual({ vectors: { r0: record(0), [last.id]: last } });
    const found = await service.api<{ matches: object[] }>('POST', `/collections/${name}/query`, {
      vector: last.values,
      filter: { at: count - 1 },
    });
    expect(found.body.matches).toMatchObject([{ id: last.id }]);
    const verified = await service.api('GET', `/collections/${name}/verify`);
    expect(verified.body).toMatchObject({ computedRoot: ROOTS.get(name), vectorCount: count });
    expect(verified.body.differences).toBeUndefined();
  };
  test.each(COLLECTIONS)('$name', (collection) =>
    invariant('all that was acknowledged is there', () => isAllThere(collection)),
  );

  test('usage says so', async () => {
    const total = COLLECTIONS.reduce((sum, { count }) => sum + count, 0);
    const { body } = await service.api('GET', '/usage');
    expect(body.usage).toMatchObject({ vector_count: total, write_count: total, collection_count: 3 });
  });
});
