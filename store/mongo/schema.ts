import type { CollectionInfo, Db, Document } from 'mongodb';
import { StoreError } from '../port.ts';

interface IndexSpec {
  key: Record<string, 1>;
  unique?: true;
  sparse?: true;
}

const GRID_FILES = 'checkpoint-files.files';

/** The collections, with their indexes beside the one on `_id`. */
const INDEXES: Record<string, Record<string, IndexSpec>> = {
  'account-keys': { lookups_1: { key: { lookups: 1 }, unique: true } },
  accounts: {},
  'anchor-history': {},
  'anchoring-instances': {},
  audit: {},
  'audit-links': { hash_1: { key: { hash: 1 }, unique: true } },
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
  plans: {},
  'record-shards': {},
  records: { gone_1: { key: { gone: 1 }, sparse: true } },
  usage: {},
};
const ID_INDEX: IndexSpec = { key: { _id: 1 } };

/** Creates missing collections and indexes, except those that GridFS creates itself. */
export async function createIndexes(db: Db): Promise<void> {
  for (const [collection, indexes] of Object.entries(INDEXES)) {
    if (collection === GRID_FILES) continue;
    for (const { key, ...options } of Object.values(indexes)) await db.collection(collection).createIndex(key, options);
  }
}

/** Fields that servers return for every index and that make no difference. */
const COMMON_INDEX_FIELDS = ['name', 'v', 'ns', 'background'];
/**
 * Options that servers return for every collection. The last two only matter beside a validator,
 * which is refused anyway.
 */
const COMMON_COLLECTION_OPTIONS = ['autoIndexId', 'validationLevel', 'validationAction'];

/**
 * Refuses a database in which one of Provec's collections was altered so that it stores or returns
 * something else: it is a view, has an option such as a validator, a size limit or a collation, or
 * has an index that Provec does not create or creates differently, such as a TTL index. Ignores
 * other collections. Throws StoreError 'damaged'.
 */
export async function checkSchema(db: Db): Promise<void> {
  for (const collection of await db.listCollections({}, { nameOnly: false }).toArray()) {
    if (INDEXES[collection.name] === undefined) continue;
    const isPlain = collection.type === undefined || collection.type === 'collection';
    const indexes = isPlain ? await db.collection(collection.name).listIndexes().toArray() : [];
    const difference = collectionDifference(collection, indexes);
    if (difference === null) continue;
    throw new StoreError(
      'damaged',
      `The database was changed: ${difference}, which Provec does not create. Remove it, and check who can write to the database.`,
    );
  }
}

/** Describes how a collection was altered; returns null if it was not. */
export function collectionDifference(
  { name, type, options }: Pick<CollectionInfo, 'name' | 'type' | 'options'>,
  indexes: readonly (Document & { name: string })[],
): string | null {
  if (type !== undefined && type !== 'collection') return `${name} is a ${type}`;
  const option = fieldsOf(options ?? {}, COMMON_COLLECTION_OPTIONS)[0];
  if (option !== undefined) return `the collection ${name} has the option ${option}`;
  for (const index of indexes) {
    const made = index.name === '_id_' ? ID_INDEX : INDEXES[name]?.[index.name];
    if (made === undefined) return `the collection ${name} has the index ${index.name}`;
    const field = indexDifference(index, made);
    if (field !== null) return `the collection ${name} has the index ${index.name} with another ${field}`;
  }
  return null;
}

/**
 * Returns the first field in which an index differs from the expected one; null if there is none.
 */
function indexDifference(index: Document, made: IndexSpec): string | null {
  const { key, ...others } = made;
  // The order of the key's fields matters.
  if (JSON.stringify(Object.entries(index.key ?? {})) !== JSON.stringify(Object.entries(key))) return 'key';
  // Some servers also report `unique` for the index on `_id`.
  const reported = made === ID_INDEX ? ['key', 'unique'] : ['key'];
  const found = fieldsOf(index, [...COMMON_INDEX_FIELDS, ...reported]);
  const differs = (field: string): boolean => index[field] !== (others as Document)[field];
  return [...new Set([...found, ...Object.keys(others)])].find(differs) ?? null;
}

/**
 * Returns the fields that are set, except `known` ones. 0 counts as set: it is a valid TTL in
 * seconds.
 */
function fieldsOf(options: Document, known: readonly string[]): string[] {
  const isNothing = (value: unknown): boolean =>
    value === undefined || value === null || value === false || JSON.stringify(value) === '{}';
  return Object.keys(options).filter((field) => !known.includes(field) && !isNothing(options[field]));
}
