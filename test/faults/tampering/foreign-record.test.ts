/**
 * An attacker copies or moves a record to another shard, where no read by id looks for it; files
 * its row under another shard's number; copies it under an id that reads like its own, which no
 * write reaches; or gives it values that no record can have.
 */
import type { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { VerifyResult } from '../../../contracts/actions/verification.ts';
import { startService, type TestService } from '../../support/service.ts';
import { inStoreFile } from '../../support/store-file.ts';
import { until } from '../../support/until.ts';

let service: TestService;
/** The collection of the current test. */
let name: string;
let collectionId: string;

/** A byte that is not UTF-8 decodes to this. */
const REPLACEMENT = '\ufffd';
const RECORDS = [REPLACEMENT, ...Array.from({ length: 39 }, (_, at) => `r${at}`)].map((id, at) => ({
  id,
  values: [1, at, 0],
  metadata: {},
}));

beforeAll(async () => {
  service = await startService({ PROVEC_LOG_LEVEL: 'silent' });
});
afterAll(() => service.stop());

const inRecords = <T>(work: (file: DatabaseSync) => T): T => inStoreFile(service.dataDir, 'records.db', work);

/** Numbers under which the rows of the collection's shards are filed. */
const shardNumbers = (): number[] =>
  inRecords((file) =>
    file.prepare('SELECT number FROM shards WHERE collection = ? ORDER BY shard').all(collectionId),
  ).map(({ number }) => number as number);

/** Runs a statement that returns an id. It may refer to the collection's first and last shard. */
function change(sql: string): string {
  const [first, last] = [shardNumbers().at(0)!, shardNumbers().at(-1)!];
  return inRecords((file) => {
    const statement = file.prepare(sql);
    statement.setAllowUnknownNamedParameters(true);
    return String(statement.get({ ':first': first, ':last': last, ':collection': collectionId })!.id);
  });
}

const NEXT_PLACE = '(SELECT MAX(place) + 1 FROM records WHERE shard = :first)';
const ONE_OF_LAST = '(SELECT MIN(place) FROM records WHERE shard = :last)';
const COPIED = `INSERT INTO records SELECT ${NEXT_PLACE}, :first, id, seq, vector, metadata, leaf FROM records
  WHERE place = ${ONE_OF_LAST} RETURNING CAST(id AS TEXT) AS id`;
const MOVED = `UPDATE records SET place = ${NEXT_PLACE}, shard = :first WHERE place = ${ONE_OF_LAST}
  RETURNING CAST(id AS TEXT) AS id`;
const RENUMBERED = `UPDATE records SET shard = :first + 1000 WHERE place = ${ONE_OF_LAST} RETURNING CAST(id AS TEXT) AS id`;

const RESPELT = `INSERT INTO records SELECT (SELECT MAX(place) + 1 FROM records WHERE shard = own.shard), shard, X'FF', seq,
  vector, metadata, leaf FROM records AS own WHERE id = X'EFBFBD' AND shard IN (SELECT number FROM shards WHERE collection = :collection)
  RETURNING '${REPLACEMENT}' AS id`;
const NOT_A_NUMBER = `UPDATE records SET vector = CAST(substr(vector, 1, 8) || X'0000C07F' AS BLOB) WHERE place = ${ONE_OF_LAST}
  RETURNING CAST(id AS TEXT) AS id`;

const upsert = async (records: object[]) =>
  (await service.api<{ anchor: { status: string } }>('POST', `/collections/${name}/upsert`, { records })).body.anchor
    .status;
const verify = async () => {
  const { status, body } = await service.api<VerifyResult>('GET', `/collections/${name}/verify`);
  return { status, ...body };
};
/** Ids of the records that are filed under the collection's shards. */
const keptIds = (): string[] => {
  const numbers = new Set(shardNumbers());
  const rows = inRecords((file) => file.prepare('SELECT shard, CAST(id AS TEXT) AS id FROM records').all());
  return rows.filter(({ shard }) => numbers.has(shard as number)).map(({ id }) => id as string);
};

async function create(collection: string, shards: number): Promise<void> {
  name = collection;
  const created = { name, dimensions: 3, shards };
  collectionId = (await service.api<{ collection: { id: string } }>('POST', '/collections', created)).body.collection
    .id;
  expect(await upsert(RECORDS)).toBe('confirmed');
  await until('its records are materialised', async () => keptIds().length === RECORDS.length);
}

test.each([
  ['copied', COPIED],
  ['moved', MOVED],
  ['respelt', RESPELT],
  ['of a value that is not a number', NOT_A_NUMBER],
])('%s: a mismatch that names it, even after a restart, and nothing more is anchored', async (how, sql) => {
  await create(how.replaceAll(' ', '-'), 4);
  const id = change(sql);
  const named = { status: 200, state: 'mismatch', differences: [{ id, what: expect.any(String) }] };
  expect(await verify()).toMatchObject(named);
  await service.restart();
  expect(await verify()).toMatchObject(named);
  expect(await upsert([{ id: 'later', values: [0, 0, 1], metadata: {} }])).toBe('pending');
  expect(await verify()).toMatchObject({ status: 200, state: 'mismatch' });
});

test('under another number: a mismatch through every write of that record, and its deletion holds', async () => {
  await create('renumbered', 1);
  const id = change(RENUMBERED);
  const named = { status: 200, state: 'mismatch', differences: [{ id, what: 'unreadable' }] };
  expect(await verify()).toMatchObject(named);
  // Before and after the write is materialised: it does not reach the row.
  await upsert([{ id, values: [0, 1, 1], metadata: {} }]);
  expect(await verify()).toMatchObject(named);
  await until('it is materialised', async () => keptIds().includes(id));
  expect(await verify()).toMatchObject(named);
  const deleted = await service.api('POST', `/collections/${name}/delete`, { ids: [id] });
  expect(deleted).toMatchObject({ status: 200, body: { deletedCount: 1 } });
  expect(await verify()).toMatchObject(named);
  await until('the deletion is materialised', async () => !keptIds().includes(id));
  await service.restart();
  expect(await verify()).toMatchObject(named);
  expect(await service.api('POST', `/collections/${name}/fetch`, { ids: [id] })).toMatchObject({
    body: { vectors: {} },
  });
  expect(await upsert([{ id: 'later', values: [0, 0, 1], metadata: {} }])).toBe('pending');
});
