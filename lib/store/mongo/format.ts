import type { Seals } from '../../secret/seals.ts';
import { isOfInstallation, sealOfInstallation } from '../installation-seal.ts';
import { StoreError } from '../port.ts';
import type { Connection } from './connection.ts';
import { isDuplicateKey } from './store-failure.ts';

/** The layout of the documents; a service refuses a database of any other. */
export const MONGO_FORMAT = 6;
const ID = 'format';

interface FormatDocument {
  _id: string;
  format: number;
  createdBy: string;
  /** See installation-seal.ts. */
  installation?: string;
}

/** Marks an empty database as one of this format. Throws StoreError 'damaged' for one of another format, of none that can be read, or made under another secret. */
export async function checkFormat(connection: Connection, installation: Seals): Promise<void> {
  const formats = connection.collection<FormatDocument>('format');
  const found = await formats.findOne({ _id: ID });
  if (found === null) {
    try {
      const seal = sealOfInstallation(installation);
      await formats.insertOne({ _id: ID, format: MONGO_FORMAT, createdBy: 'provec', installation: seal });
    } catch (error) {
      // Another node was first; it may be a newer one.
      if (!isDuplicateKey(error)) throw error;
      await checkFormat(connection, installation);
    }
    return;
  }
  const { format } = found;
  if (!Number.isSafeInteger(format) || format < 1)
    throw new StoreError('damaged', 'The format document of the database is damaged: put back a backup.');
  if (format > MONGO_FORMAT) {
    throw new StoreError(
      'damaged',
      `The database has format ${format}, and this version of Provec knows formats up to ${MONGO_FORMAT}: start it with the newer version that wrote it.`,
    );
  }
  if (format < MONGO_FORMAT) {
    throw new StoreError(
      'damaged',
      `The database has format ${format}, of an earlier version of Provec, and this one reads format ${MONGO_FORMAT} only: start with an empty database, and write the records again from where they came.`,
    );
  }
  if (!isOfInstallation(installation, found.installation)) {
    throw new StoreError(
      'damaged',
      'The database was made under another secret: every node needs the one that PROVEC_SECRET or PROVEC_SECRET_FILE held then.',
    );
  }
}
