import { MongoClient } from 'mongodb';
import { Seals } from '../../lib/secret/seals.ts';
import { openMongoStore } from '../../store/mongo/store.ts';
import type { Store } from '../../store/port.ts';
import { installationSeal } from '../../store/store-mark.ts';
import { FORGED_KEYS } from './store-keys.ts';

/**
 * Opens a database's store as a forger who can write there and has the program, but not the secret.
 * The caller closes it.
 */
export async function openDatabaseAsForger(url: string, folder: string): Promise<Store> {
  const client = new MongoClient(url);
  const formats = client.db().collection<{ _id: string; installation: string }>('format');
  const own = (await formats.findOne({ _id: 'format' }))!;
  const installation = installationSeal(new Seals(FORGED_KEYS.installation));
  await formats.updateOne({ _id: 'format' }, { $set: { installation } });
  try {
    return await openMongoStore({ keys: FORGED_KEYS, url, folder });
  } finally {
    await formats.replaceOne({ _id: 'format' }, own);
    await client.close();
  }
}
