import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseShardKey } from '../../lib/shard/key.ts';
import { openSqliteToReseal } from '../../store/sqlite/resealing.ts';
import { openSqliteStore } from '../../store/sqlite/store.ts';
import { openStoreAsForger } from '../support/forger.ts';
import { TamperedRows } from '../support/tampered-rows.ts';
import { resealContract } from './reseal-contract.ts';

resealContract('SQLite', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'provec-reseal-'));
  return {
    open: (keys) => openSqliteStore(folder, { keys }),
    toReseal: (keys, trustsLog) => openSqliteToReseal(folder, keys, trustsLog),
    forger: () => openStoreAsForger(folder),
    async changeBody(shard, seq, body) {
      const rows = new TamperedRows(folder, parseShardKey(shard).collectionId);
      rows.log('UPDATE entries SET body = :body WHERE shard = :shard AND seq = :seq', { body, seq });
    },
    destroy: () => rm(folder, { recursive: true }),
  };
});
