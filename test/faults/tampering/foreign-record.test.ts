/**
 * An attacker copies or moves a record to another shard, where no read by id looks for it; files
 * its row under another shard's number; copies it under an id that reads like its own, which no
 * write reaches; or gives it values that no record can have.
 */
import { afterEach, expect, test } from '@jest/globals';
import type { VerifyResult } from '../../../contracts/actions/verification.ts';
import { type ServiceProcess, startProcess } from '../../support/service-process.ts';
import { inStoreFile } from '../../support/store-file.ts';
import { until } from '../../support/until.ts';

let service: ServiceProcess;
afterEach(() => service.dispose());

/** A byte that is not UTF-8 decodes to this. */
const REPLACEMENT = '\ufffd';
const RECORDS = [REPLACEMENT, ...Array.from({ length: 39 }, (_, at) => `r${at}`)].map((id, at) => ({
  id,
  values: [1, at, 0],
  metadata: {},
}));

/** Runs a statement that returns an id. It may refer to the collection's first and last shard. */
function change(dataDir: string, sql: string): string {
  return inStoreFile(dataDir, 'records.db', (file) => {
    const numbers = file.prepare('SELECT number FROM shards ORDER BY shard').all() as { number: number }[];
    const statement = file.prepare(sql);
    statement.setAllowUnknownNamedParameters(true);
    return String(statement.get({ ':first': numbers.at(0)!.number, ':last': numbers.at(-1)!.number })!.id);
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
  vector, metadata, leaf FROM records AS own WHERE id = X'EFBFBD' RETURNING '${REPLACEMENT}' AS id`;
const NOT_A_NUMBER = `UPDATE records SET vector = CAST(substr(vector, 1, 8) || X'0000C07F' AS BLOB) WHERE place = ${ONE_OF_LAST}
  RETURNING CAST(id AS TEXT) AS id`;

const upsert = async (records: object[]) =>
  (await service.api<{ anchor: { status: string } }>('POST', '/collections/c/upsert', { records })).body.anchor.status;
const verify = async () => {
  const { status, body } = await service.api<VerifyResult>('GET', '/collections/c/verify');
  return { status, ...body };
};
const isKept = (id: string) =>
  inStoreFile(service.dataDir, 'records.db', (file) =>
    file.prepare('SELECT 1 FROM records WHERE id = CAST(? AS BLOB) AND shard < 1000').get(id),
  ) !== undefined;

async function start(shards: number): Promise<void> {
  service = await startProcess({ PROVEC_ANCHOR_WAIT_MS: '30000', PROVEC_LOG_LEVEL: 'silent' });
  await service.api('POST', '/collections', { name: 'c', dimensions: 3, shards });
  expect(await upsert(RECORDS)).toBe('confirmed');
  const count = () =>
    inStoreFile(service.dataDir, 'records.db', (file) => file.prepare('SELECT id FROM records').all());
  await until('its records are materialised', async () => count().length === RECORDS.length);
}

async function restart(): Promise<void> {
  await service.kill('SIGTERM');
  await service.restart();
}

test.each([
  ['copied', COPIED],
  ['moved', MOVED],
  ['respelt', RESPELT],
  ['of a value that is not a number', NOT_A_NUMBER],
])('%s: a mismatch that names it, even after a restart, and nothing more is anchored', async (_how, sql) => {
  await start(4);
  const id = change(service.dataDir, sql);
  const named = { status: 200, state: 'mismatch', differences: [{ id, what: expect.any(String) }] };
  expect(await verify()).toMatchObject(named);
  await restart();
  expect(await verify()).toMatchObject(named);
  expect(await upsert([{ id: 'later', values: [0, 0, 1], metadata: {} }])).toBe('pending');
  expect(await verify()).toMatchObject({ status: 200, state: 'mismatch' });
});

test('under another number: a mismatch through every write of that record, and its deletion holds', async () => {
  await start(1);
  const id = change(service.dataDir, RENUMBERED);
  const named = { status: 200, state: 'mismatch', differences: [{ id, what: 'unreadable' }] };
  expect(await verify()).toMatchObject(named);
  // Before and after the write is materialised: it does not reach the row.
  await upsert([{ id, values: [0, 1, 1], metadata: {} }]);
  expect(await verify()).toMatchObject(named);
  await until('it is materialised', async () => isKept(id));
  expect(await verify()).toMatchObject(named);
  const deleted = await service.api('POST', '/collections/c/delete', { ids: [id] });
  expect(deleted).toMatchObject({ status: 200, body: { deletedCount: 1 } });
  expect(await verify()).toMatchObject(named);
  await until('the deletion is materialised', async () => !isKept(id));
  await restart();
  expect(await verify()).toMatchObject(named);
  expect(await service.api('POST', '/collections/c/fetch', { ids: [id] })).toMatchObject({ body: { vectors: {} } });
  expect(await upsert([{ id: 'later', values: [0, 0, 1], metadata: {} }])).toBe('pending');
});
