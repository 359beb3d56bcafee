import type { CollectionInfo, Db, Document } from 'mongodb';
import { StoreError } from '../port.ts';

/** An index as this version makes it. */
interface MadeIndex {
  key: Record<string, 1>;
  unique?: true;
  sparse?: true;
}

const GRID_FILES = 'checkpoint-files.files';

/** The collections, and their indexes beside the one on `_id`. */
const INDEXES: Record<string, Record<string, MadeIndex>> = {
  'account-keys': { lookups_1: { key: { lookups: 1 }, unique: true } },
  accounts: {},
  'anchor-history': {},
  'anchoring-instances': {},
  anchors: { standing_1__id_1: { key: { standing: 1, _id: 1 }, sparse: true } },
  'checkpoint-files.chunks': { files_id_1_n_1: { key: { files_id: 1, n: 1 }, unique: true } },
  [GRID_FILES]: { filename_1_uploadDate_1: { key: { filename: 1, uploadDate: 1 } } },
  checkpoints: {},
  collections: {
    place_1: { key: { place: 1 }, unique: true },
    slot_1: { key: { slot: 1 }, unique: true },
    account_1_state_1: { key: { account: 1, state: 1 } },
    state_1: { key: { state: 1 } },
  },
  contradictions: {},
  format: {},
  leases: {},
  log: { uncounted_1__id_1: { key: { uncounted: 1, _id: 1 }, sparse: true } },
  'log-parts': {},
  'log-relinks': {},
  'log-shards': {},
  owners: {},
  'record-shards': {},
  records: { gone_1: { key: { gone: 1 }, sparse: true } },
  usage: {},
};
const ID_INDEX: MadeIndex = { key: { _id: 1 } };

/** Makes what is missing of them, but for what GridFS makes itself. */
export async function makeIndexes(db: Db): Promise<void> {
  for (const [collection, indexes] of Object.entries(INDEXES)) {
    if (collection === GRID_FILES) continue;
    for (const { key, ...options } of Object.values(indexes)) await db.collection(collection).createIndex(key, options);
  }
}

/** What servers say of any index, and what an index does not differ by. */
const SAID_OF_ANY_INDEX = ['name', 'v', 'ns', 'background'];
/** The same of a collection: the last two say how a validator applies that stands beside them. */
const SAID_OF_ANY_COLLECTION = ['autoIndexId', 'validationLevel', 'validationAction'];

/**
 * Refuses a database in which somebody has a collection of ours keep, find or show something else
 * than is written there: a view, or one with any option, as a validator, a bound or a collation; or
 * an index that Provec does not make, or makes otherwise, as one that has documents expire.
 * Collections of other names are let be. Throws StoreError 'damaged'.
 */
export async function checkSchema(db: Db): Promise<void> {
  for (const collection of await db.listCollections({}, { nameOnly: false }).toArray()) {
    if (INDEXES[collection.name] === undefined) continue;
    const isPlain = collection.type === undefined || collection.type === 'collection';
    const indexes = isPlain ? await db.collection(collection.name).listIndexes().toArray() : [];
    const difference = differenceIn(collection, indexes);
    if (difference === null) continue;
    throw new StoreError(
      'damaged',
      `Somebody changed the database: ${difference}, which Provec does not make. Remove it, and check who can write to the database.`,
    );
  }
}

/** What somebody did to a collection of ours, in words; null when nothing is otherwise. */
export function differenceIn(
  { name, type, options }: Pick<CollectionInfo, 'name' | 'type' | 'options'>,
  indexes: readonly (Document & { name: string })[],
): string | null {
  if (type !== undefined && type !== 'collection') return `${name} is a ${type}`;
  const option = fieldsOf(options ?? {}, SAID_OF_ANY_COLLECTION)[0];
  if (option !== undefined) return `the collection ${name} has the option ${option}`;
  for (const index of indexes) {
    const made = index.name === '_id_' ? ID_INDEX : INDEXES[name]?.[index.name];
    if (made === undefined) return `the collection ${name} has the index ${index.name}`;
    const field = differenceOf(index, made);
    if (field !== null) return `the collection ${name} has the index ${index.name} with another ${field}`;
  }
  return null;
}

/** The field by which an index is not the one that is made; null when it is. */
function differenceOf(index: Document, made: MadeIndex): string | null {
  const { key, ...others } = made;
  // The order of a key's fields counts.
  if (JSON.stringify(Object.entries(index.key ?? {})) !== JSON.stringify(Object.entries(key))) return 'key';
  // Some servers say of the index on `_id` what is so of every one.
  const said = made === ID_INDEX ? ['key', 'unique'] : ['key'];
  const found = fieldsOf(index, [...SAID_OF_ANY_INDEX, ...said]);
  const differs = (field: string): boolean => index[field] !== (others as Document)[field];
  return [...new Set([...found, ...Object.keys(others)])].find(differs) ?? null;
}

/** The fields that say something, but for those that say nothing new. 0 seconds are a time. */
function fieldsOf(said: Document, known: readonly string[]): string[] {
  const isNothing = (value: unknown): boolean =>
    value === undefined || value === null || value === false || JSON.stringify(value) === '{}';
  return Object.keys(said).filter((field) => !known.includes(field) && !isNothing(said[field]));
}
