import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { parseShardKey } from '../../lib/shard/shard-key.ts';
import { Environment } from '../../lib/store/lmdb/environment.ts';
import { idPart } from '../../lib/store/lmdb/row-key.ts';
import { openLmdbStore } from '../../lib/store/lmdb/store.ts';
import { storeContract } from './store-contract.ts';
import { at, newKey } from './store-rows.ts';

test('LMDB: keys that were revoked leave no row in any table', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'provec-store-'));
  try {
    const store = await openLmdbStore(folder);
    const rows = Array.from({ length: 50 }, () => newKey());
    for (const row of rows) await store.keys.create(row, null);
    for (const row of rows.slice(1)) expect(await store.keys.revoke('an account', row.id, at(0))).toBe('revoked');
    await store.keys.touch(rows[1].id, at(1));
    await store.close();
    const environment = new Environment(join(folder, 'log.mdb'), 'the log');
    const counts = ['keys', 'keys-by-hash', 'keys-by-id'].map((name) => environment.table(name).getKeysCount());
    await environment.close();
    expect(counts).toEqual([1, 1, 1]);
  } finally {
    await rm(folder, { recursive: true });
  }
});

storeContract('LMDB', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'provec-store-'));
  const store = await openLmdbStore(folder);
  let current = store;
  return {
    store,
    async reopen() {
      await current.close();
      current = await openLmdbStore(folder);
      return current;
    },
    async destroy() {
      await current.close();
      await rm(folder, { recursive: true });
    },
    async spoil(shard, seq, name) {
      const file = join((await current.checkpoints.fetch(shard, seq))!, name);
      const bytes = await readFile(file);
      bytes[bytes.length >> 1] ^= 1;
      await writeFile(file, bytes);
    },
    async setAside(shard) {
      const names = await readdir(folder, { recursive: true });
      const { collectionId, index } = parseShardKey(shard);
      const own = `${idPart(collectionId).toString('hex')}/${index}/unsound-`;
      return names.flatMap((name) => {
        const [, seq] = name.split(own);
        return seq !== undefined && /^\d+$/.test(seq) ? [Number(seq)] : [];
      });
    },
  };
});
