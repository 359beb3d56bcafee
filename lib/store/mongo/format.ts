import type { Collection } from 'mongodb';
import type { Seals } from '../../secret/seals.ts';
import { newMark, type StoredMark } from '../first-key.ts';
import { StoreError } from '../port.ts';
import { assertFormat, isOfInstallation, sealOfInstallation } from '../store-mark.ts';
import type { Connection } from './connection.ts';
import { unlessTaken } from './store-failure.ts';

/** The layout of the documents; a service refuses a database of any other. */
export const MONGO_FORMAT = 6;
/** Its `_id`. */
export const FORMAT_ID = 'format';

/** What the database says of the store that it holds. */
export interface FormatDocument {
  _id: string;
  format: number;
  createdBy: string;
  /** See store-mark.ts. */
  installation?: string;
  /** See first-key.ts; absent: a version before it made the store. */
  firstKey?: StoredMark;
  /** It is being sealed anew (resealing.ts); the shard whose log is half done, or null. */
  resealing?: { relinking: string | null };
}

/** The document that stands for the whole database. */
export const theFormat = (connection: Connection): Collection<FormatDocument> => connection.collection('format');

/**
 * Marks an empty database as one of this format. Throws StoreError 'damaged' for one of another
 * format, of none that can be read, made under another secret, or half sealed anew.
 */
export async function checkFormat(connection: Connection, installation: Seals): Promise<void> {
  const found = await storedFormat(connection);
  if (found === null) {
    const seal = sealOfInstallation(installation);
    const own = { _id: FORMAT_ID, format: MONGO_FORMAT, createdBy: 'provec' };
    const mark = { ...own, installation: seal, firstKey: newMark(installation) };
    // Where another node was first, it may be a newer one.
    if ((await unlessTaken(theFormat(connection).insertOne(mark))) === null)
      await checkFormat(connection, installation);
    return;
  }
  if (found.resealing) {
    throw new StoreError(
      'damaged',
      'The database is being sealed anew: wait for the npm run reseal that does it, or run that command again if it was cut off.',
    );
  }
  if (!isOfInstallation(installation, found.installation)) {
    throw new StoreError(
      'damaged',
      'The database was made under another secret: every node needs the one that PROVEC_SECRET or PROVEC_SECRET_FILE held then. If it is lost, docs/operations.md says what to do.',
    );
  }
}

/**
 * The format document; null in an empty database. Throws StoreError 'damaged' for one of another
 * format, or of none that can be read.
 */
export async function storedFormat(connection: Connection): Promise<FormatDocument | null> {
  const found = await theFormat(connection).findOne({ _id: FORMAT_ID });
  if (found === null) return null;
  const { format } = found;
  if (!Number.isSafeInteger(format) || format < 1)
    throw new StoreError('damaged', 'The format document of the database is damaged: put back a backup.');
  assertFormat(format, MONGO_FORMAT, 'database');
  return found;
}
