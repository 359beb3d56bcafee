import { randomUUID } from 'node:crypto';
import { open, readFile, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { StoreError } from '../port.ts';

/** The layout of the store's files; a service refuses a folder of any other. */
export const STORE_FORMAT = 5;
export const FORMAT_FILE = 'provec.json';

/**
 * Whether the folder holds a store of this format; false when it has no format file yet. Throws StoreError 'damaged' when it is of another format or
 * cannot be read as one.
 */
export async function checkFormat(folder: string): Promise<boolean> {
  let text: string;
  try {
    text = await readFile(join(folder, FORMAT_FILE), 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw error;
  }
  const format = formatOf(text);
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
      `The data directory has format ${format}, of an earlier version of Provec, and this one reads format ${STORE_FORMAT} only: start with an empty directory, and write the records again from where they came.`,
    );
  }
  return true;
}

/** Marks the folder as a store of this format, durably; the last step of making one. */
export async function writeFormat(folder: string): Promise<void> {
  const draft = join(folder, `${FORMAT_FILE}.${randomUUID()}`);
  const file = await open(draft, 'w', 0o600);
  try {
    await file.writeFile(`${JSON.stringify({ format: STORE_FORMAT, createdBy: 'provec' })}\n`);
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

function formatOf(text: string): number | null {
  try {
    const { format } = JSON.parse(text) as { format: unknown };
    return Number.isSafeInteger(format) && (format as number) >= 1 ? (format as number) : null;
  } catch {
    return null;
  }
}
