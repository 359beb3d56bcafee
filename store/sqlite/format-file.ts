import { randomUUID } from 'node:crypto';
import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { systemCode } from '../../lib/host/system-error.ts';
import type { Seals } from '../../lib/secret/seals.ts';
import type { StoredFirstKeyMark } from '../first-key.ts';
import { StoreError } from '../port.ts';
import { assertFormat, installationSeal, isInstallationSeal } from '../store-mark.ts';
import { sync } from './checkpoints.ts';

/** Version of the file layout. A service refuses a folder with any other version. */
export const STORE_FORMAT = 8;
export const FORMAT_FILE = 'provec.json';

/** What the format file holds beside the format; not to be trusted. */
export interface FormatFile {
  /** See store-mark.ts. */
  installation: unknown;
  /** See first-key.ts. Undefined in stores made before it existed. */
  firstKey?: unknown;
}

/**
 * Throws StoreError 'damaged' if the folder's store was made under another secret, and whenever
 * `readFormatFile` does.
 */
export async function checkInstallation(folder: string, installation: Seals): Promise<void> {
  const mark = await readFormatFile(folder);
  if (mark === null || isInstallationSeal(installation, mark.installation)) return;
  throw new StoreError(
    'damaged',
    'The data directory was made under another secret: put back the one that PROVEC_SECRET_FILE or PROVEC_SECRET held then. If it is lost, docs/operations.md says what to do.',
  );
}

/**
 * Reads the format file; returns null if there is none. Throws StoreError 'damaged' if it is
 * unreadable or has another format.
 */
export async function readFormatFile(folder: string): Promise<FormatFile | null> {
  let text: string;
  try {
    text = await readFile(join(folder, FORMAT_FILE), 'utf8');
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return null;
    throw error;
  }
  const { format, installation, firstKey } = formatOf(text);
  if (format === null) {
    throw new StoreError(
      'damaged',
      `${FORMAT_FILE} in the data directory is damaged: put back a backup of the whole directory, or start with an empty one.`,
    );
  }
  assertFormat(format, STORE_FORMAT, 'data directory');
  return { installation, firstKey };
}

/** Writes the format file, durably. This is the last step of creating a store. */
export function writeFormat(folder: string, installation: Seals, firstKey?: StoredFirstKeyMark): Promise<void> {
  return writeFormatFile(folder, { installation: installationSeal(installation), firstKey });
}

/** Replaces the mark of the first key, durably. */
export async function writeFirstKey(folder: string, firstKey: StoredFirstKeyMark): Promise<void> {
  const mark = await readFormatFile(folder);
  if (mark === null) throw new StoreError('damaged', `${FORMAT_FILE} was removed from the data directory.`);
  await writeFormatFile(folder, { ...mark, firstKey });
}

async function writeFormatFile(folder: string, mark: FormatFile): Promise<void> {
  const draft = join(folder, `${FORMAT_FILE}.${randomUUID()}`);
  const whole = { format: STORE_FORMAT, createdBy: 'provec', ...mark };
  await writeFile(draft, `${JSON.stringify(whole)}\n`, { mode: 0o600, flag: 'wx', flush: true });
  await rename(draft, join(folder, FORMAT_FILE));
  await sync(folder);
}

function formatOf(text: string): FormatFile & { format: number | null } {
  try {
    const { format, installation, firstKey } = JSON.parse(text) as FormatFile & { format: unknown };
    const isFormat = typeof format === 'number' && Number.isSafeInteger(format) && format >= 1;
    return { format: isFormat ? format : null, installation, firstKey };
  } catch {
    return { format: null, installation: null };
  }
}
