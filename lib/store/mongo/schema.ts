import type { CollectionInfo, Db } from 'mongodb';
import { StoreError } from '../port.ts';

/** The collections, and their indexes beside the one on `_id`. */
const INDEXES: Record<string, readonly string[]> = {
  'account-keys': ['lookups_1'],
  accounts: [],
  'anchor-history': [],
  'anchoring-instances': [],
  anchors: ['standing_1__id_1'],
  'checkpoint-files.chunks': ['files_id_1_n_1'],
  'checkpoint-files.files': ['filename_1_uploadDate_1'],
  checkpoints: [],
  collections: ['place_1', 'slot_1', 'account_1_state_1', 'state_1'],
  contradictions: [],
  format: [],
  leases: [],
  log: ['uncounted_1__id_1'],
  'log-parts': [],
  'log-relinks': [],
  'log-shards': [],
  owners: [],
  'record-shards': [],
  records: ['gone_1'],
  usage: [],
};
/**
 * Those with which the server does more than keep what is written: validators, bounds, views, times
 * to live.
 */
const OPTIONS = ['validator', 'capped', 'viewOn', 'pipeline', 'timeseries', 'expireAfterSeconds'];

/**
 * Refuses a database in which somebody has a collection of ours keep or show something else than is
 * written there: a view, a validator, a bound, or an index that Provec does not make, as one that
 * has documents expire. Collections of other names are let be. Throws StoreError 'damaged'.
 */
export async function checkSchema(db: Db): Promise<void> {
  for (const collection of await db.listCollections({}, { nameOnly: false }).toArray()) {
    if (INDEXES[collection.name] === undefined) continue;
    const isView = collection.type === 'view';
    const indexes = isView ? [] : await db.collection(collection.name).listIndexes().toArray();
    const difference = differenceIn(collection, indexes);
    if (difference === null) continue;
    throw new StoreError(
      'damaged',
      `The database was changed: ${difference}, which Provec does not make. Take it away, and look who can write to the database.`,
    );
  }
}

/** What somebody did to a collection of ours, in words; null when nothing is otherwise. */
export function differenceIn(
  { name, type, options }: Pick<CollectionInfo, 'name' | 'type' | 'options'>,
  indexes: readonly { name: string }[],
): string | null {
  if (type !== undefined && type !== 'collection') return `${name} is a ${type}`;
  const option = OPTIONS.find((each) => options?.[each as keyof typeof options]);
  if (option !== undefined) return `the collection ${name} has the option ${option}`;
  const index = indexes.find((each) => each.name !== '_id_' && !INDEXES[name]?.includes(each.name));
  return index === undefined ? null : `the collection ${name} has the index ${index.name}`;
}
