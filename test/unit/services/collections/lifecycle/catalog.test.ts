import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Harness } from '../harness.ts';

let harness: Harness;
let accountId: string;

beforeAll(async () => {
  harness = await Harness.open();
  accountId = await harness.account('enterprise');
});
afterAll(() => harness.close());

describe('creating', () => {
  test('fills in the defaults', async () => {
    const view = await harness.call('collections.create', { accountId, name: 'a.b_c-1', dimensions: 3 });
    expect(view).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      name: 'a.b_c-1',
      dimensions: 3,
      metric: 'cosine',
      vector_count: 0,
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
      shards: 1,
      replicas: 0,
      quantization: 'bf16',
      deletionProtection: false,
    });
  });

  test('reports every invalid field at once', async () => {
    const request = { accountId, name: '-x', dimensions: 0, metric: 'l1', shards: 3, replicas: 4, quantization: 'i4' };
    await expect(
      harness.call('collections.create', { ...request, deletionProtection: 'yes' } as never),
    ).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      details: ['name', 'dimensions', 'metric', 'shards', 'replicas', 'quantization', 'deletionProtection'].map(
        (path) => expect.objectContaining({ path }),
      ),
    });
  });

  test.each([
    ['name', ['', 'a'.repeat(65), 'a-', '.a', 'a b', 'ä', 7, undefined]],
    ['dimensions', [8_193, 1.5, '3', undefined]],
    ['shards', [0, 512, 1.5]],
  ])('refuses an invalid %s', async (field, values) => {
    for (const value of values) {
      const request = { accountId, name: 'fine', dimensions: 3, [field]: value };
      const refused = expect(harness.call('collections.create', request as never)).rejects;
      await refused.toMatchObject({ code: 'INVALID_ARGUMENT', details: [expect.objectContaining({ path: field })] });
    }
  });

  test('accepts the bounds', async () => {
    for (const name of ['a', 'Z9', 'a'.repeat(64)]) {
      await harness.call('collections.create', { accountId, name, dimensions: 8_192, shards: 256, replicas: 3 });
    }
  });

  test('of two creators of one name one is refused', async () => {
    const create = () => harness.call('collections.create', { accountId, name: 'twice', dimensions: 3 });
    const outcomes = await Promise.allSettled([create(), create()]);
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    await expect(create()).rejects.toMatchObject({ code: 'COLLECTION_EXISTS' });
  });

  test("keeps the plan's number of collections", async () => {
    const free = await harness.account('free');
    const create = (name: string) => harness.call('collections.create', { accountId: free, name, dimensions: 3 });
    await create('one');
    await create('two');
    await expect(create('three')).rejects.toMatchObject({ code: 'PLAN_LIMIT_REACHED' });
    await expect(create('two')).rejects.toMatchObject({ code: 'COLLECTION_EXISTS' });
    await harness.call('collections.remove', { accountId: free, name: 'one' });
    await create('three');
  });
});

test("a deleted account's key creates nothing that lasts", async () => {
  const account = await harness.account('enterprise');
  const { catalog } = harness.store;
  const { createCollection } = catalog;
  catalog.createCollection = async (row, most) => {
    const outcome = await createCollection.call(catalog, row, most);
    const getAccount = catalog.getAccount;
    catalog.getAccount = async () => {
      catalog.getAccount = getAccount;
      // Another request that finds the row meanwhile leaves it in the cache.
      await harness.call('collections.resolve', { accountId: account, name: 'late' });
      return null;
    };
    return outcome;
  };
  try {
    const create = harness.call('collections.create', { accountId: account, name: 'late', dimensions: 2 });
    await expect(create).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
  } finally {
    catalog.createCollection = createCollection;
  }
  expect(await harness.call('collections.list', { accountId: account })).toEqual({ collections: [] });
  await expect(harness.call('collections.resolve', { accountId: account, name: 'late' })).rejects.toMatchObject({
    code: 'COLLECTION_NOT_FOUND',
  });
});

describe('finding', () => {
  test("changes of another account's collections do not repeat a lookup", async () => {
    const mine = { accountId: await harness.account('enterprise'), name: 'mine' };
    const theirs = { accountId: await harness.account('enterprise'), name: 'theirs' };
    for (const target of [mine, theirs]) await harness.call('collections.create', { ...target, dimensions: 2 });
    const { catalog } = harness.store;
    const { findCollection } = catalog;
    let lookups = 0;
    catalog.findCollection = async (account, name) => {
      const row = await findCollection.call(catalog, account, name);
      if (account === mine.accountId && ++lookups < 9)
        await harness.call('collections.update', { ...theirs, tags: { at: String(lookups) } });
      return row;
    };
    try {
      expect(await harness.call('collections.get', mine)).toMatchObject({ name: 'mine' });
    } finally {
      catalog.findCollection = findCollection;
    }
    expect(lookups).toBe(1);
  });

  test("another account's collection is as absent as one that never existed", async () => {
    const other = await harness.account('enterprise');
    await harness.call('collections.create', { accountId: other, name: 'theirs', dimensions: 3 });
    for (const name of ['theirs', 'never', '__proto__', '../x', '']) {
      await expect(harness.call('collections.get', { accountId, name })).rejects.toMatchObject({
        code: 'COLLECTION_NOT_FOUND',
      });
    }
  });

  test('lists newest first with counts', async () => {
    const account = await harness.account('enterprise');
    for (const name of ['first', 'second', 'third']) {
      await harness.call('collections.create', { accountId: account, name, dimensions: 2, shards: 4 });
    }
    const records = Array.from({ length: 20 }, (_, at) => ({ id: `r${at}`, values: [1, at] }));
    await harness.call('collections.upsert', { accountId: account, name: 'second', records });
    const { collections: views } = await harness.call('collections.list', { accountId: account });
    expect(views.map(({ name, vector_count }) => [name, vector_count])).toEqual([
      ['third', 0],
      ['second', 20],
      ['first', 0],
    ]);
  });
});

describe('continuing with a deleted collection', () => {
  const batch = { ids: ['x'], dimensions: 2, vectors: Float32Array.of(1, 2), metadata: [''] };

  test.each([
    ['nothing', undefined],
    ['a collection', 'collection'],
    ['an alias', 'alias'],
  ])('%s has its name: nothing that began on it finds another', async (_, namesake) => {
    const target = { accountId: await harness.account('enterprise'), name: 'switched' };
    const other = { ...target, name: 'other' };
    const { id: collectionId } = await harness.call('collections.create', { ...target, dimensions: 2, shards: 4 });
    const imports = () => harness.call('collections.import', { ...target, collectionId, batch });
    expect(await imports()).toMatchObject({ importedCount: 1 });
    const collection = await harness.call('collections.resolve', target);
    await harness.call('collections.create', { ...other, dimensions: 2 });
    await harness.call('collections.remove', target);
    if (namesake === 'collection') await harness.call('collections.create', { ...target, dimensions: 2 });
    if (namesake === 'alias')
      await harness.call('collections.putAlias', {
        accountId: target.accountId,
        alias: target.name,
        collection: other.name,
      });
    const rests = [{ index: 3, rest: 'r' }];
    const at = { collectionId, rests, merkleRoot: '', count: 0, partMaxBytes: 4_096 };
    const gone = { code: 'COLLECTION_NOT_FOUND' };
    await expect(imports()).rejects.toMatchObject(gone);
    // Nor does a request that looked the name up just before.
    const late = harness.call('collections.fetch', { ...target, collection, ids: ['x'] });
    await expect(late).rejects.toMatchObject(gone);
    await expect(harness.call('collections.export', { ...target, collectionId, at })).rejects.toMatchObject(gone);
    const { collections } = await harness.call('collections.list', { accountId: target.accountId });
    for (const { vector_count } of collections) expect(vector_count).toBe(0);
  });
});

describe('removing', () => {
  test('frees the name at once; a new one with it starts empty under another id', async () => {
    const target = { accountId, name: 'phoenix' };
    const first = await harness.call('collections.create', { ...target, dimensions: 2 });
    await harness.call('collections.upsert', { ...target, records: [{ id: 'x', values: [1, 2] }] });
    expect(await harness.call('collections.remove', target)).toEqual({ deleted: true });
    await expect(harness.call('collections.fetch', { ...target, ids: ['x'] })).rejects.toMatchObject({
      code: 'COLLECTION_NOT_FOUND',
    });
    const second = await harness.call('collections.create', { ...target, dimensions: 5 });
    expect(second.id).not.toBe(first.id);
    expect(await harness.call('collections.fetch', { ...target, ids: ['x'] })).toEqual([]);
    expect((await harness.call('collections.resolve', target)).dimensions).toBe(5);
    expect(harness.anchoring.closed).toContain(first.id);
    expect(await harness.store.catalog.listDropped()).toEqual([]);
  });

  test('returns stored vectors to the plan before it answers', async () => {
    const target = { accountId: await harness.account('free'), name: 'full' };
    await harness.call('collections.create', { ...target, dimensions: 1 });
    await harness.call('collections.upsert', { ...target, records: [{ id: 'x', values: [1] }] });
    await harness.call('collections.remove', target);
    const { usage } = await harness.call('metering.usage', { accountId: target.accountId });
    expect(usage).toMatchObject({ vector_count: 0, collection_count: 0, write_count: 1 });
  });

  test('of two removers one is refused', async () => {
    const target = { accountId, name: 'contended' };
    await harness.call('collections.create', { ...target, dimensions: 2 });
    const remove = () => harness.call('collections.remove', target);
    const outcomes = await Promise.allSettled([remove(), remove()]);
    expect(outcomes.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
  });

  test('waits for running operations, and lets none begin after it', async () => {
    const target = { accountId, name: 'busy' };
    const { id } = await harness.call('collections.create', { ...target, dimensions: 1 });
    const order: string[] = [];
    const held = Promise.withResolvers<void>();
    const entered = Promise.withResolvers<void>();
    harness.anchoring.answer = async () => {
      entered.resolve();
      await held.promise;
      return { status: 'pending', signature: null, explorerUrl: null };
    };
    const write = harness
      .call('collections.upsert', { ...target, records: [{ id: 'x', values: [1] }] })
      .then(() => order.push('written'));
    await entered.promise;
    const removed = harness.call('collections.remove', target).then(() => order.push('removed'));
    const name = async () =>
      harness.call('collections.resolve', target).then(
        () => 'taken',
        () => 'free',
      );
    while ((await name()) === 'taken') await new Promise(setImmediate);
    // A removal that starts later and waits for nothing ends first.
    const idle = { accountId, name: 'idle' };
    await harness.call('collections.create', { ...idle, dimensions: 1 });
    await harness.call('collections.remove', idle);
    expect((await harness.store.log.heads(id)).size).toBe(1);
    held.resolve();
    await Promise.all([write, removed]);
    expect(order).toEqual(['written', 'removed']);
    expect((await harness.store.log.heads(id)).size).toBe(0);
  });

  test('is refused under deletion protection, but not for a whole account', async () => {
    const account = await harness.account('enterprise');
    const target = { accountId: account, name: 'kept' };
    await harness.call('collections.create', { ...target, dimensions: 1, deletionProtection: true });
    await expect(harness.call('collections.remove', target)).rejects.toMatchObject({ code: 'FORBIDDEN' });
    await harness.call('collections.removeAll', { accountId: account });
    expect(await harness.call('collections.list', { accountId: account })).toEqual({ collections: [] });
  });

  test('resumes after a restart', async () => {
    const target = { accountId, name: 'interrupted' };
    const { id } = await harness.call('collections.create', { ...target, dimensions: 1 });
    harness.anchoring.closing = async () => {
      throw new Error('the ledger is away');
    };
    const removed = harness.call('collections.remove', target);
    while ((await harness.store.catalog.listDropped()).length === 0) await new Promise(setImmediate);
    await harness.stopServices();
    await removed;
    expect((await harness.store.catalog.listDropped()).map((row) => row.id)).toEqual([id]);
    harness.anchoring.closing = async () => undefined;
    await harness.startServices();
    while ((await harness.store.catalog.listDropped()).length > 0) await new Promise(setImmediate);
    expect(harness.anchoring.closed).toContain(id);
  });
});
