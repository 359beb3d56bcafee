import { randomUUID } from 'node:crypto';
import { open, readFile, rename } from 'node:fs/promises';
import { join } from 'node:path';
import type { Seals } from '../../secret/seals.ts';
import { isOfInstallation, sealOfInstallation } from '../installation-seal.ts';
import { StoreError } from '../port.ts';

/** The layout of the store's files; a service refuses a folder of any other. */
export const STORE_FORMAT = 8;
export const FORMAT_FILE = 'provec.json';

/**
 * Throws StoreError 'damaged' when the folder's store was made under another secret, and as
 * `storeMark`.
 */
export async function checkInstallation(folder: string, installation: Seals): Promise<void> {
  const mark = await storeMark(folder);
  if (mark === null || isOfInstallation(installation, mark.installation)) return;
  throw new StoreError(
    'damaged',
    'The data directory was made under another secret: put back the one that PROVEC_SECRET_FILE or PROVEC_SECRET held then. If it is lost, docs/operations.md says what to do.',
  );
}

/**
 * What the folder says of the store that it holds; null when it has no format file yet. Throws
 * StoreError 'damaged' when it is of another format, or cannot be read as one.
 */
export async function storeMark(folder: string): Promise<{ installation: unknown } | null> {
  let text: string;
  try {
    text = await readFile(join(folder, FORMAT_FILE), 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
  const { format, installation } = formatOf(text);
  if (format === null) {
    throw new StoreError(
      'damaged',
      `${FORMAT_FILE} in the data directory is damaged: put back a backup of the whole directory, or start with an empty one.`,
    );
  }
  if (format > STORE_FORMAT) {
    throw new StoreError(
      'damaged',
      `The data directory has format ${format}, and this version of Provec knows formats up to ${STORE_FORMAT}: start it with the newer version that wrote it.`,
    );
  }
  if (format < STORE_FORMAT) {
    throw new StoreError(
      'damaged',
      `The data directory has format ${format}, of an earlier version of Provec, and this one reads format ${STORE_FORMAT} only: start with an empty directory, and write the records again from their source.`,
    );
  }
  return { installation };
}

/** Marks the folder as a store of this format, durably; the last step of making one. */
export async function writeFormat(folder: string, installation: Seals): Promise<void> {
  const draft = join(folder, `${FORMAT_FILE}.${randomUUID()}`);
  const file = await open(draft, 'wx', 0o600);
  try {
    await file.writeFile(
      `${JSON.stringify({ format: STORE_FORMAT, createdBy: 'provec', installation: sealOfInstallation(installation) })}\n`,
    );
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(draft, join(folder, FORMAT_FILE));
  const directory = await open(folder, 'r');
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}

function formatOf(text: string): { format: number | null; installation: unknown } {
  try {
    const { format, installation } = JSON.parse(text) as { format: unknown; installation: unknown };
    const isFormat = Number.isSafeInteger(format) && (format as number) >= 1;
    return { format: isFormat ? (format as number) : null, installation };
  } catch {
    return { format: null, installation: null };
  }
}
