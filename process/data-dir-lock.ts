/**
 * The lock of a data directory: files `lock.<n>`, of which only the highest counts.
 *
 * Guarantees: at most one of any number of processes holds the lock. A process that is killed loses
 * it at once. The lock needs only a file system with hard links. On failure: an error that names
 * the holder, or a file system error. See docs/internals/store.md.
 */
import { randomUUID } from 'node:crypto';
import { link, readdir, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { isAlive, ownIdentity, type ProcessIdentity } from '../lib/host/process-identity.ts';
import { ifMissing, systemCode } from '../lib/host/system-error.ts';

const BEAT_MS = 1_000;
/**
 * Time in milliseconds without a beat after which a holder in another container counts as dead.
 * Other holders are checked by their pid.
 */
const SILENCE_MS = 5_000;
const ATTEMPTS_MAX = 100;
const NAME = /^lock\.(\d{1,15})$/;
/** Counting never reaches this number, so a file with it was put there by hand. */
const NUMBER_MAX = 10 ** 15 - 1;

/** Content of a lock file. A released one stays, to keep its number. */
type LockContent = ProcessIdentity | 'released';

export interface DirectoryLock {
  release(): Promise<void>;
}

/**
 * Takes the lock of a folder, or returns the process that holds it. Throws if no lock number is
 * left, after `ATTEMPTS_MAX` lost races, and on file system errors.
 */
export async function takeLock(folder: string): Promise<{ lock: DirectoryLock } | { holder: ProcessIdentity }> {
  const own = await ownIdentity();
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
    const highest = await highestNumber(folder);
    if (highest > 0) {
      const holder = await readHolder(folder, highest);
      if (holder === null) continue;
      if (holder !== 'released' && (await holds(folder, highest, holder))) return { holder };
    }
    if (highest === NUMBER_MAX) {
      const file = pathOf(folder, highest);
      throw new Error(
        `the lock file ${file} has the highest possible number: make sure that no process uses the folder, then remove that file`,
      );
    }
    const number = highest + 1;
    if (!(await writeExclusive(folder, number, own))) continue;
    if ((await highestNumber(folder)) !== number) {
      await rm(pathOf(folder, number), { force: true });
      continue;
    }
    await removeBelow(folder, number);
    return { lock: keep(folder, number) };
  }
  throw new Error(`could not lock ${folder} in ${ATTEMPTS_MAX} attempts`);
}

/**
 * Returns the living process that holds the lock of a folder; null if the lock is free or the
 * folder is missing. Throws file system errors.
 */
export async function lockHolder(folder: string): Promise<ProcessIdentity | null> {
  const highest = await highestNumber(folder).catch(ifMissing(0));
  if (highest === 0) return null;
  const holder = await readHolder(folder, highest);
  return holder !== null && holder !== 'released' && (await holds(folder, highest, holder)) ? holder : null;
}

/** Returns whether the process that held the lock is known to have ended without releasing it. */
export async function isAbandoned(folder: string): Promise<boolean> {
  // A folder that cannot be read is not known to be abandoned.
  const highest = await highestNumber(folder).catch(() => 0);
  const holder = highest === 0 ? null : await readHolder(folder, highest);
  return holder !== null && holder !== 'released' && (await isAlive(holder)) === false;
}

function keep(folder: string, number: number): DirectoryLock {
  const path = pathOf(folder, number);
  const beat = setInterval(() => {
    const now = new Date();
    // The next beat makes up for one that fails.
    utimes(path, now, now).catch(() => undefined);
  }, BEAT_MS);
  beat.unref();
  let released: Promise<void> | null = null;
  return {
    release() {
      clearInterval(beat);
      released ??= replaceByReleased(folder, path);
      return released;
    },
  };
}

async function replaceByReleased(folder: string, path: string): Promise<void> {
  const draft = draftPath(folder);
  await writeFile(draft, JSON.stringify('released'), { mode: 0o600 });
  await rename(draft, path);
}

async function holds(folder: string, number: number, holder: ProcessIdentity): Promise<boolean> {
  const alive = await isAlive(holder);
  if (alive !== 'unknown') return alive;
  const before = await beatOf(folder, number);
  for (let waitedMs = 0; waitedMs < SILENCE_MS; waitedMs += BEAT_MS / 4) {
    await sleep(BEAT_MS / 4);
    if ((await beatOf(folder, number)) !== before) return true;
  }
  return false;
}

/** Returns the time of the last beat; null if the file is gone. */
async function beatOf(folder: string, number: number): Promise<number | null> {
  const found = await stat(pathOf(folder, number)).catch(ifMissing(null));
  return found?.mtimeMs ?? null;
}

async function readHolder(folder: string, number: number): Promise<LockContent | null> {
  let text: string;
  try {
    text = await readFile(pathOf(folder, number), 'utf8');
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return null;
    throw error;
  }
  try {
    const holder = JSON.parse(text) as LockContent;
    if (holder === 'released' || Number.isSafeInteger(holder.pid)) return holder;
  } catch {
    // Not JSON.
  }
  // Files are linked when complete, so this one lost its content in a power failure, which also
  // ended its process.
  return 'released';
}

async function writeExclusive(folder: string, number: number, own: ProcessIdentity): Promise<boolean> {
  const draft = draftPath(folder);
  try {
    await writeFile(draft, JSON.stringify(own), { mode: 0o600 });
    await link(draft, pathOf(folder, number));
    return true;
  } catch (error) {
    if (systemCode(error) === 'EEXIST') return false;
    throw error;
  } finally {
    await rm(draft, { force: true });
  }
}

async function numbers(folder: string): Promise<number[]> {
  return (await readdir(folder)).flatMap((name) => {
    const match = NAME.exec(name);
    return match ? [Number(match[1])] : [];
  });
}

async function highestNumber(folder: string): Promise<number> {
  return Math.max(0, ...(await numbers(folder)));
}

async function removeBelow(folder: string, number: number): Promise<void> {
  for (const lower of await numbers(folder)) if (lower < number) await rm(pathOf(folder, lower), { force: true });
}

function pathOf(folder: string, number: number): string {
  return join(folder, `lock.${number}`);
}

function draftPath(folder: string): string {
  return join(folder, `lock-${randomUUID()}.draft`);
}
