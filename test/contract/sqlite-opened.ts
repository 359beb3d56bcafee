import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { parseShardKey } from '../../lib/shard/key.ts';
import { openSqliteStore } from '../../store/sqlite/store.ts';
import { openStoreAsForger } from '../support/forger.ts';
import { inStoreFile } from '../support/store-file.ts';
import { TEST_KEYS } from '../support/store-keys.ts';
import type { OpenedStore } from './store-contract.ts';

/** Opens an SQLite store in a new folder, for the contract of the port. */
export async function openedSqliteStore(): Promise<OpenedStore> {
  const folder = await mkdtemp(join(tmpdir(), 'provec-store-'));
  const store = await openSqliteStore(folder, { keys: TEST_KEYS });
  let current = store;
  return {
    store,
    async reopen() {
      await current.close();
      current = await openSqliteStore(folder, { keys: TEST_KEYS });
      return current;
    },
    async destroy() {
      await current.close();
      await rm(folder, { recursive: true });
    },
    forger: () => openStoreAsForger(folder),
    async spoil(shard, seq, name) {
      const file = join((await current.checkpoints.fetch(shard, seq))!.folder, name);
      const bytes = await readFile(file);
      bytes[bytes.length >> 1] ^= 1;
      await writeFile(file, bytes);
    },
    async remark(change) {
      const path = join(folder, 'provec.json');
      const mark = JSON.parse(await readFile(path, 'utf8')) as { firstKey?: unknown };
      if (change === undefined) return mark.firstKey;
      mark.firstKey = change(mark.firstKey);
      await writeFile(path, JSON.stringify(mark));
      return mark.firstKey;
    },
    async misfile(collectionId, standing) {
      const file = new DatabaseSync(join(folder, 'log.db'), { timeout: 5_000 });
      file.prepare('UPDATE anchors SET standing = ? WHERE collection = ?').run(standing, collectionId);
      file.close();
    },
    async respell(shard, id, bytes) {
      const { collectionId, index } = parseShardKey(shard);
      const sql = `INSERT INTO records SELECT (SELECT MAX(place) + 1 FROM records WHERE shard = number), number, ?, records.seq,
        vector, metadata, leaf FROM records JOIN shards ON number = records.shard
        WHERE collection = ? AND shards.shard = ? AND id = CAST(? AS BLOB)`;
      inStoreFile(folder, 'records.db', (file) => file.prepare(sql).run(bytes, collectionId, index, id));
    },
    async setAside(shard) {
      const names = await readdir(folder, { recursive: true });
      const { collectionId, index } = parseShardKey(shard);
      const own = `${collectionId}/${index}/unsound-`;
      return names.flatMap((name) => {
        const [, seq] = name.split(own);
        return seq !== undefined && /^\d+$/.test(seq) ? [Number(seq)] : [];
      });
    },
  };
}
