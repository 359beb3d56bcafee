/**
 * Somebody copies a record of one shard among those of another, where no read by its id looks for
 * it.
 */
import { afterEach, expect, test } from '@jest/globals';
import type { VerifyResult } from '../../../lib/actions/verification.ts';
import { type ServiceProcess, startProcess } from '../../support/service-process.ts';
import { inStoreFile } from '../../support/store-file.ts';
import { until } from '../../support/until.ts';

let service: ServiceProcess;
afterEach(() => service.dispose());

const RECORDS = Array.from({ length: 40 }, (_, at) => ({ id: `r${at}`, values: [1, at, 0], metadata: {} }));

/** Copies a record of the collection's last shard to its first; its id. */
function plant(dataDir: string): string {
  return inStoreFile(dataDir, 'records.db', (file) => {
    const numbers = file.prepare('SELECT number FROM shards ORDER BY shard').all() as { number: number }[];
    const [to, from] = [numbers.at(0)!.number, numbers.at(-1)!.number];
    const sql = `INSERT INTO records SELECT (SELECT MAX(place) + 1 FROM records WHERE shard = ?), ?, id, seq, vector,
      metadata, leaf FROM records WHERE shard = ? LIMIT 1 RETURNING CAST(id AS TEXT) AS id`;
    return String(file.prepare(sql).get(to, to, from)!.id);
  });
}

test('a mismatch that names it, also after a restart, and nothing more is anchored', async () => {
  service = await startProcess({ PROVEC_ANCHOR_WAIT_MS: '30000', PROVEC_LOG_LEVEL: 'silent' });
  const upsert = async (records: object[]) =>
    (await service.api<{ anchor: { status: string } }>('POST', '/collections/c/upsert', { records })).body.anchor
      .status;
  const verify = async () => (await service.api<VerifyResult>('GET', '/collections/c/verify')).body;
  await service.api('POST', '/collections', { name: 'c', dimensions: 3, shards: 4 });
  expect(await upsert(RECORDS)).toBe('confirmed');
  const count = () =>
    inStoreFile(service.dataDir, 'records.db', (file) => file.prepare('SELECT id FROM records').all());
  await until('its records are materialised', async () => count().length === RECORDS.length);
  const id = plant(service.dataDir);
  expect(await verify()).toMatchObject({ state: 'mismatch', differences: [{ id, what: 'unreadable' }] });
  await service.kill('SIGTERM');
  await service.restart();
  expect(await verify()).toMatchObject({ state: 'mismatch', differences: [{ id, what: 'unreadable' }] });
  expect(await upsert([{ id: 'later', values: [0, 0, 1], metadata: {} }])).toBe('pending');
  expect(await verify()).toMatchObject({ state: 'mismatch' });
});
