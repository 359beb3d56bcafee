/**
 * After an operator's `resume`, planted rows that no write could have put there are removed, and
 * the collection does not halt again.
 */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { VerifyResult } from '../../../contracts/actions/verification.ts';
import { shardKey } from '../../../lib/shard/key.ts';
import { shardIndexOf } from '../../../services/collections/shard-routing.ts';
import { startService, type TestService } from '../../support/service.ts';
import { inStoreFile } from '../../support/store-file.ts';
import { until } from '../../support/until.ts';

const SHARDS = 4;
/** A byte that is not UTF-8 decodes to this. */
const REPLACEMENT = '\ufffd';
const IDS = [REPLACEMENT, ...Array.from({ length: 39 }, (_, at) => `r${at}`)];
/** An id in the first shard that was never written. */
const GHOST = Array.from({ length: 100 }, (_, at) => `ghost ${at}`).find((id) => shardIndexOf(id, SHARDS) === 0)!;
const COPY = `(SELECT MAX(place) + 1 FROM records WHERE shard = :to), :to, id, seq, vector, metadata, leaf
  FROM records WHERE shard = :from`;
/** A statement per kind of row, with :shard names :to and :from. */
const PLANTED = {
  'a record of another shard': `INSERT INTO records SELECT ${COPY} LIMIT 1`,
  'a row under the number of no shard': `UPDATE records SET shard = 1000 WHERE place =
    (SELECT MAX(place) FROM records WHERE shard = :from)`,
  'a row under an id that is no text': `INSERT INTO records SELECT ${COPY.replace(' id,', " X'FF',")} LIMIT 1`,
  'a row of a shard that is no record': `INSERT INTO records SELECT ${COPY.replace(' id,', ` X'${Buffer.from(GHOST).toString('hex')}',`).replace('leaf', "X'00'")} LIMIT 1`,
};
const record = (id: string) => ({ id, values: [1, id.length, 0], metadata: {} });

let service: TestService;
let collectionId: string;
/** Ids in the row that was moved to another number. */
let lost: string[];

beforeAll(async () => {
  service = await startService({ PROVEC_LOG_LEVEL: 'silent' });
  const made = { name: 'c', dimensions: 3, shards: SHARDS };
  const { body } = await service.api<{ collection: { id: string } }>('POST', '/collections', made);
  collectionId = body.collection.id;
  await upsert(...IDS);
  const { records, log } = service.provec.store;
  for (let index = 0; index < SHARDS; index++) {
    const key = shardKey(collectionId, index);
    await until('it is materialised', async () => (await records.appliedSeq(key)) === (await log.head(key))?.seq);
  }
});
afterAll(() => service.stop());

const upsert = async (...ids: string[]) =>
  (await service.api<{ anchor: { status: string } }>('POST', '/collections/c/upsert', { records: ids.map(record) }))
    .body.anchor?.status;
const verify = async () => (await service.api<VerifyResult>('GET', '/collections/c/verify')).body;
const resume = () => service.provec.broker.call('anchoring.resume', { collectionId });
const fetched = async (ids: string[]) =>
  Object.keys((await service.api<{ vectors: object }>('POST', '/collections/c/fetch', { ids })).body.vectors).sort();

function plant(): void {
  inStoreFile(service.dataDir, 'records.db', (file) => {
    const numbers = file.prepare('SELECT number FROM shards ORDER BY shard').all() as { number: number }[];
    const bound = { to: numbers.at(0)!.number, from: numbers.at(-1)!.number };
    for (const sql of Object.values(PLANTED)) {
      const statement = file.prepare(sql);
      statement.setAllowUnknownNamedParameters(true);
      expect(statement.run(bound).changes).toBe(1);
    }
    const rows = file.prepare('SELECT CAST(id AS TEXT) AS id FROM records WHERE shard = 1000').all();
    lost = rows.map(({ id }) => String(id));
  });
}

test('impossible rows are removed, and rows that writes reach stay as the operator leaves them', async () => {
  await service.provec.stop();
  plant();
  await service.restart();
  expect(await verify()).toMatchObject({ state: 'mismatch' });
  expect(await upsert('later')).toBe('pending');
  // As the operators' page says, the owner must repair rows under ids of the shard.
  await upsert(GHOST, ...lost);
  await service.api('POST', '/collections/c/delete', { ids: [GHOST] });
  expect(await verify()).toMatchObject({ state: 'mismatch' });
  await resume();
  expect(await verify()).toMatchObject({ state: 'match', vectorCount: IDS.length + 1 });
  await service.restart();
  expect(await verify()).toMatchObject({ state: 'match', vectorCount: IDS.length + 1 });
  expect(await upsert('after it')).toBe('confirmed');
  expect(await fetched([...IDS, GHOST, 'later'])).toEqual([...IDS, 'later'].sort());
  await service.restart();
  expect(await verify()).toMatchObject({ state: 'match', vectorCount: IDS.length + 2 });
  expect(await service.provec.store.contradictions.list(collectionId)).toEqual([]);
});
