/** Changes by filter of more records than a log entry takes: the service makes them in rounds. */
import { beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { LIMITS } from '../../lib/limits.ts';
import { shardIndexOf } from '../../services/collections/shard-routing.ts';
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

/** Merging one more field into it is refused. */
const full = (at: number) =>
  recordOf(at, { text: 'x'.repeat(LIMITS.metadataMaxBytes - Buffer.byteLength('{"old":true,"text":""}')) });

describe.each([1, 4])('over %i shards', (shards) => {
  test('an update changes every record that matches', async () => {
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

  test('what is refused in a later round leaves the earlier ones, and says so', async () => {
    const records = 3_500 * shards;
    await fill(records, shards);
    await post('upsert', { records: [full(records - 1)] });
    const update = { filter: { old: true }, setMetadata: { new: 1 } };
    const { status, body } = await post('update', update);
    expect([status, body.code]).toEqual([503, 'UNAVAILABLE']);
    expect(body.error).toContain('changed only some of the records');
    const changed = await count({ new: 1 });
    expect(changed).toBeGreaterThan(0);
    expect(changed).toBeLessThan(records);
  });
});

test('a shard that refuses all of it is no 400 beside one that changed some', async () => {
  const all = Array.from({ length: 6_000 }, (_, at) => at);
  const [first, second] = [0, 1].map((shard) => all.filter((at) => shardIndexOf(idOf(at), 2) === shard));
  await fill(0, 2);
  // The one's only record is too long, and the other's last one.
  await write([full(first![0]!)]);
  await write(second!.map((at) => recordOf(at)));
  await write([full(second!.at(-1)!)]);
  const { status, body } = await post('update', { filter: { old: true }, setMetadata: { new: 1 } });
  expect([status, body.code]).toEqual([503, 'UNAVAILABLE']);
  expect(await count({ new: 1 })).toBeGreaterThan(0);
});

test('a delete by filter deletes every record that matches', async () => {
  const records = 30_500;
  await fill(records, 1);
  await post('upsert', { records: [recordOf(7, { old: false })] });
  expect((await post('delete', { filter: { old: true } })).body).toMatchObject({
    deletedCount: records - 1,
    vectorCount: 1,
  });
});
