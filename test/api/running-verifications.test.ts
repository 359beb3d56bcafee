/** Verifications while they run: the test can hold the scans of the service's store. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { Verification } from '../../contracts/actions/verification.ts';
import { StoreError } from '../../store/port.ts';
import { HeldScans } from '../support/held-scans.ts';
import { refusal } from '../support/refusal.ts';
import { startService, type TestService } from '../support/service.ts';
import { until } from '../support/until.ts';

const COUNT = 400;

let service: TestService;
let scans: HeldScans;
let made = 0;
let path: string;

beforeAll(async () => {
  service = await startService({ PROVEC_LEDGER: 'off', PROVEC_LOG_LEVEL: 'silent' });
  scans = new HeldScans(service);
});
afterEach(() => scans.release());
afterAll(() => service.stop());

/** Creates a collection and waits until all its records are materialised. */
async function fill(shards: number): Promise<void> {
  const name = `running-${++made}`;
  path = `/collections/${name}`;
  const created = { name, dimensions: 2, shards };
  const { id } = (await service.api<{ collection: { id: string } }>('POST', '/collections', created)).body.collection;
  const records = Array.from({ length: COUNT }, (_, at) => ({ id: `r${at}`, values: [1, at] }));
  expect(await service.api('POST', `${path}/upsert`, { records })).toMatchObject({ status: 200 });
  const { store } = service.provec;
  await until('all is materialised', async () => {
    const heads = await store.log.heads(id);
    const marks = [...heads].map(async ([index, { seq }]) => (await store.records.appliedSeq(`${id}.${index}`)) >= seq);
    return (await Promise.all(marks)).every((isDone) => isDone);
  });
}

const begin = () => service.api<Verification>('POST', `${path}/verifications`);
const look = (id: string) => service.api<Verification>('GET', `${path}/verifications/${id}`);
const ended = (id: string) =>
  until('it has ended', async () => {
    const { body } = await look(id);
    return body.state !== 'running' && body;
  });
/** Resolves when the scan is held after reading some records. */
const midway = (id: string, least = 1) =>
  until('some records are recomputed', async () => {
    const { body } = await look(id);
    return body.progress.scanned >= least && body;
  });

describe.each([1, 4])('over %i shards', (shards) => {
  beforeEach(async () => {
    await fill(shards);
    scans.hold();
  });

  test('shows progress while it runs, and concurrent requests share it', async () => {
    const before = scans.scans;
    const { id, progress } = (await begin()).body;
    expect(progress).toEqual({ scanned: 0, total: COUNT });
    // The first batch of each shard.
    expect(await midway(id, 10 * shards)).toEqual({
      id,
      state: 'running',
      progress: { scanned: 10 * shards, total: COUNT },
    });
    const [joined, other] = await Promise.all([begin(), begin()]);
    for (const { status, body } of [joined, other]) expect([status, body.id]).toEqual([202, id]);
    const plain = service.api('GET', `${path}/verify`);
    scans.release();
    expect(await plain).toMatchObject({ status: 200, body: { state: 'not_anchored', vectorCount: COUNT } });
    expect(await ended(id)).toMatchObject({ state: 'done', progress: { scanned: COUNT, total: COUNT } });
    expect(scans.scans - before).toBe(shards);
    const next = (await begin()).body;
    expect(next.id).not.toBe(id);
    expect((await ended(next.id)).state).toBe('done');
  });

  test('joins a running plain verify, and shows its progress', async () => {
    const before = scans.scans;
    const plain = service.api('GET', `${path}/verify`);
    await until('all shards are scanned', () => scans.scans - before === shards);
    const { id } = (await begin()).body;
    await midway(id);
    scans.release();
    expect((await ended(id)).state).toBe('done');
    expect(await plain).toMatchObject({ status: 200 });
    expect(scans.scans - before).toBe(shards);
  });

  test('records deleted meanwhile do not take its progress past the total', async () => {
    const { id } = (await begin()).body;
    await midway(id);
    await service.api('POST', `${path}/delete`, { ids: Array.from({ length: 100 }, (_, at) => `r${at}`) });
    const records = Array.from({ length: 300 }, (_, at) => ({ id: `new${at}`, values: [1, at] }));
    await service.api('POST', `${path}/upsert`, { records });
    scans.release();
    const end = await ended(id);
    expect(end).toMatchObject({ progress: { scanned: COUNT, total: COUNT }, result: { vectorCount: COUNT + 200 } });
  });

  test('a deleted collection takes its verification along, and the scan stops', async () => {
    const plain = service.api('GET', `${path}/verify`);
    const { id } = (await begin()).body;
    // Every scan has begun, and waits for its second batch.
    await midway(id, 10 * shards);
    const read = scans.batches;
    expect(await service.api('DELETE', path)).toMatchObject({ status: 200 });
    expect(await look(id)).toEqual(refusal(404, 'COLLECTION_NOT_FOUND'));
    scans.release();
    expect(await plain).toEqual(refusal(404, 'COLLECTION_NOT_FOUND'));
    // At most the batch that each scan was waiting for.
    expect(scans.batches - read).toBeLessThanOrEqual(shards);
  });
});

test.each([
  ['a fault', new Error('/var/lib/secret'), 'INTERNAL'],
  ['a store out of reach', new StoreError('unavailable', 'mongodb://secret'), 'UNAVAILABLE'],
])('a failed one has an error with a reason, and no other detail of %s', async (_, error, code) => {
  await fill(1);
  scans.fail(error);
  const { id } = (await begin()).body;
  const end = await ended(id);
  expect(end).toEqual({
    id,
    state: 'failed',
    progress: { scanned: expect.any(Number), total: COUNT },
    error: { code, message: expect.not.stringContaining('secret') },
  });
  expect(end.progress.scanned).toBeLessThan(COUNT);
  scans.release();
  const { id: next } = (await begin()).body;
  expect(await ended(next)).toMatchObject({ state: 'done', result: { vectorCount: COUNT } });
});

test('a restart ends it: later requests are told to begin another one', async () => {
  await fill(1);
  scans.hold();
  const { id } = (await begin()).body;
  await midway(id);
  const { provec } = service;
  const read = scans.batches;
  const restarted = service.restart();
  await until('the shards stop', () => provec.waiting()[0] === 'the service shards');
  scans.release();
  await restarted;
  expect(scans.batches - read).toBeLessThanOrEqual(1);
  scans = new HeldScans(service);
  expect(await look(id)).toEqual(refusal(404, 'VERIFICATION_NOT_FOUND'));
  const { id: next } = (await begin()).body;
  expect((await ended(next)).state).toBe('done');
});
