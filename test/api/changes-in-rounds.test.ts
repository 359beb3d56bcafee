/**
 * Changes by filter of more records than fit into one log entry; the service makes them in rounds.
 */
import { beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { LIMITS } from '../../lib/limits.ts';
import { shardIndexOf } from '../../services/collections/shard-routing.ts';
import { refusalOf } from '../support/refusal.ts';
import { type SharedService, shareService } from '../support/shared-service.ts';

const BATCH = 1_000;

let service: SharedService;
let turn = 0;
let path: string;
beforeAll(async () => {
  service = await shareService();
});
beforeEach(() => {
  path = `/collections/rounds-${++turn}`;
});

const idOf = (at: number): string => `r${String(at).padStart(6, '0')}`;
const post = <T = Record<string, unknown>>(operation: string, body: object) =>
  service.api<T>('POST', `${path}/${operation}`, body);
const count = async (filter: object) => (await post<{ count: number }>('count', { filter })).body.count;

async function fill(records: number, shards: number): Promise<void> {
  await service.api('POST', '/collections', { name: path.split('/')[2], dimensions: 1, metric: 'dot', shards });
  await write(Array.from({ length: records }, (_, at) => recordOf(at)));
}
async function write(records: object[]): Promise<void> {
  for (let from = 0; from < records.length; from += BATCH) {
    const { status } = await post('upsert', { records: records.slice(from, from + BATCH) });
    expect(status).toBe(200);
  }
}
const recordOf = (at: number, metadata = {}) => ({ id: idOf(at), values: [1], metadata: { old: true, ...metadata } });

/** A record so large that merging one more field is refused. */
const full = (at: number) =>
  recordOf(at, { text: 'x'.repeat(LIMITS.metadataMaxBytes - Buffer.byteLength('{"old":true,"text":""}')) });

describe.each([1, 4])('over %i shards', (shards) => {
  test('an update changes every matching record', async () => {
    const records = 3_500 * shards;
    await fill(records, shards);
    const update = { filter: { old: true }, setMetadata: { new: 1 } };
    expect((await post('update', update)).body).toMatchObject({ matchedCount: records, updatedCount: records });
    expect(await count({ new: 1 })).toBe(records);
    expect((await post('update', update)).body).toMatchObject({ matchedCount: records, updatedCount: 0 });
    expect((await post('update', { ...update, setMetadata: { old: false } })).body).toMatchObject({
      matchedCount: records,
      updatedCount: records,
    });
    expect(await count({ old: true })).toBe(0);
  });

  test('if a record would become too long in a later round, the answer is 400 and nothing changes', async () => {
    const records = 3_500 * shards;
    await fill(records, shards);
    await post('upsert', { records: [full(records - 1)] });
    const update = { filter: { old: true }, setMetadata: { new: 1 } };
    for (const dryRun of [true, false]) {
      expect(await post('update', { ...update, dryRun })).toEqual(refusalOf(`the record "${idOf(records - 1)}"`));
    }
    expect(await count({ new: 1 })).toBe(0);
  });
});

test('several shards that refuse give the same 400, even in a later round', async () => {
  const all = Array.from({ length: 6_000 }, (_, at) => at);
  const [first, second] = [0, 1].map((shard) => all.filter((at) => shardIndexOf(idOf(at), 2) === shard));
  await fill(0, 2);
  // One shard's only record is too long, and so is the other shard's last record.
  await write([full(first![0]!)]);
  await write(second!.map((at) => recordOf(at)));
  await write([full(second!.at(-1)!)]);
  const update = { filter: { old: true }, setMetadata: { new: 1 } };
  expect(await post('update', update)).toEqual(refusalOf(`the record "${idOf(first![0]!)}"`));
  expect(await count({ new: 1 })).toBe(0);
  // A record that does not grow may stay too long, and one that gets no field cannot grow.
  expect((await post('update', { filter: { old: true }, unsetMetadata: ['none'] })).status).toBe(200);
});

test.each([1, 4])('updates by id change nothing if one record would become too long (%i shards)', async (shards) => {
  await fill(8, shards);
  await write([recordOf(3, { text: 'x'.repeat(40_000) })]);
  const updates = Array.from({ length: 8 }, (_, at) => ({
    id: idOf(at),
    setMetadata: { new: 1, b: 'y'.repeat(2_000) },
  }));
  for (const dryRun of [true, false])
    expect(await post('update', { updates, dryRun })).toEqual(refusalOf('updates[3]'));
  expect(await count({ new: 1 })).toBe(0);
  // Numbers and escapes are stored with a different length than they are sent with.
  const full = LIMITS.metadataMaxBytes - Buffer.byteLength('{"n":100000000000000000000,"old":true,"text":""}');
  for (const [over, status] of [
    [0, 200],
    [1, 400],
  ] as const) {
    await write([recordOf(3, { text: 'x'.repeat(full + over) })]);
    const grown = updates.map(({ id }) => ({ id, setMetadata: { n: 1e20 } }));
    expect((await post('update', { updates: grown })).status).toBe(status);
    expect((await post('update', { filter: { old: true }, setMetadata: { n: 1e20 } })).status).toBe(status);
  }
});

test('a delete by filter deletes every matching record', async () => {
  const records = 30_500;
  await fill(records, 1);
  await post('upsert', { records: [recordOf(7, { old: false })] });
  expect((await post('delete', { filter: { old: true } })).body).toMatchObject({
    deletedCount: records - 1,
    vectorCount: 1,
  });
});
