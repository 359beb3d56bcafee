import type { Collection } from 'mongodb';
import type { Seals } from '../../lib/secret/seals.ts';
import { newMark, type StoredFirstKeyMark } from '../first-key.ts';
import { StoreError } from '../port.ts';
import { assertFormat, installationSeal, isInstallationSeal } from '../store-mark.ts';
import type { Connection } from './connection.ts';
import { nullOnDuplicate } from './store-failure.ts';

/** Version of the document layout. A service refuses a database with any other version. */
export const MONGO_FORMAT = 6;
export const FORMAT_ID = 'format';

export interface FormatDocument {
  _id: string;
  format: number;
  createdBy: string;
  /** See store-mark.ts. */
  installation?: string;
  /** See first-key.ts. Absent in stores made before it existed. */
  firstKey?: StoredFirstKeyMark | null;
  /**
   * Present while the database is being resealed (resealing.ts). Names the shard whose log is half
   * resealed, if any.
   */
  resealing?: { relinking: string | null };
}

export const formatCollection = (connection: Connection): Collection<FormatDocument> => connection.collection('format');

/**
 * Writes the format document into an empty database. Throws StoreError 'damaged' if the database
 * has another format or an unreadable one, was made under another secret, or is half resealed.
 */
export async function checkFormat(connection: Connection, installation: Seals): Promise<void> {
  const found = await readFormat(connection);
  if (found === null) {
    const seal = installationSeal(installation);
    const own = { _id: FORMAT_ID, format: MONGO_FORMAT, createdBy: 'provec' };
    const mark = { ...own, installation: seal, firstKey: newMark(installation) };
    // If another node was faster, it may run a newer version, so its document is checked.
    if ((await nullOnDuplicate(formatCollection(connection).insertOne(mark))) === null)
      await checkFormat(connection, installation);
    return;
  }
  if (found.resealing) {
    throw new StoreError(
      'damaged',
      'The database is being resealed: wait until npm run reseal has finished, or run it again if it was interrupted.',
    );
  }
  if (!isInstallationSeal(installation, found.installation)) {
    throw new StoreError(
      'damaged',
      'The database was made under another secret: every node needs the one that PROVEC_SECRET or PROVEC_SECRET_FILE held then. If it is lost, docs/operations.md says what to do.',
    );
  }
}

/**
 * Returns the format document; null in an empty database. Throws StoreError 'damaged' if it is
 * unreadable or has another format.
 */
export async function readFormat(connection: Connection): Promise<FormatDocument | null> {
  const found = await formatCollection(connection).findOne({ _id: FORMAT_ID });
  if (found === null) return null;
  const { format } = found;
  if (!Number.isSafeInteger(format) || format < 1)
    throw new StoreError('damaged', 'The format document of the database is damaged: put back a backup.');
  assertFormat(format, MONGO_FORMAT, 'database');
  return found;
}
