import { createHash, hash, randomUUID } from 'node:crypto';
import { mkdir, open, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Logger } from 'pino';
import { firstSymbolicLink } from '../../lib/host/symbolic-links.ts';
import { systemCode } from '../../lib/host/system-error.ts';
import type { CollectionId } from '../../lib/ids.ts';
import type { Seals } from '../../lib/secret/seals.ts';
import { parseShardKey, type ShardKey } from '../../lib/shard/key.ts';
import {
  type CheckpointFile,
  type CheckpointInfo,
  type FetchedCheckpoint,
  payloadOfCheckpoint,
  type StoredCheckpoints,
  UNSOUND_CHECKPOINT,
} from '../checkpoints.ts';
import { StoreError } from '../port.ts';
import { damagedFile, sqliteFailure } from './store-failure.ts';

/**
 * Checkpoints are folders: `<root>/<collection>/<shard index>/<seq>/` holds the caller's files and
 * `manifest.json` with the SHA-256 of each. A folder is renamed to its seq after everything in it
 * was synced, so a folder named by a seq is complete. The staging folder, on the same disk, holds
 * checkpoints being written. `unsound-<seq>` is a shard's newest damaged checkpoint.
 */
export const MANIFEST = 'manifest.json';
const ASIDE = 'unsound-';
const LINKED = 'found a symbolic link where checkpoints are kept; nothing is read or removed there';
const KEPT = 2;
const DIGEST_STEP_BYTES = 1024 * 1024;
/** Pattern of collection ids. The folder of a collection is named by its id. */
export const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** Content of `manifest.json`. */
export interface FolderManifest extends CheckpointInfo {
  files: CheckpointFile[];
  seal: string;
}

export class FolderCheckpoints implements StoredCheckpoints {
  readonly #root: string;
  readonly #seals: Seals;
  readonly #log: Pick<Logger, 'error'> | undefined;
  readonly #staging: string;
  readonly #running = new Set<Promise<unknown>>();
  #closed = false;

  /** `staging` is for this instance only. */
  constructor(root: string, seals: Seals, staging: string, log?: Pick<Logger, 'error'>) {
    this.#root = root;
    this.#seals = seals;
    this.#log = log;
    this.#staging = staging;
  }

  /** Creates the root and removes what an earlier process left in the staging folder. */
  async open(): Promise<void> {
    await mkdir(this.#root, { recursive: true, mode: 0o700 });
    await rm(this.#staging, { recursive: true, force: true });
  }

  /** Refuses new work and waits for running work. */
  async close(): Promise<void> {
    this.#closed = true;
    while (this.#running.size > 0) await Promise.allSettled(this.#running);
  }

  stage(shard: ShardKey): Promise<string> {
    return this.#guarded('staging a checkpoint', async () => {
      await this.#refuseLinks(shard);
      const folder = join(this.#staging, `${shardFolder(shard).replace('/', '-')}-${randomUUID()}`);
      await mkdir(folder, { recursive: true, mode: 0o700 });
      return folder;
    });
  }

  async discard(stagedFolder: string): Promise<void> {
    if (dirname(stagedFolder) !== this.#staging) throw new RangeError('not a staged folder');
    await this.#guarded('discarding a checkpoint', () => rm(stagedFolder, { recursive: true, force: true }));
  }

  put(shard: ShardKey, seq: number, stagedFolder: string): Promise<CheckpointInfo> {
    return this.#guarded('writing a checkpoint', async () => {
      const folder = join(this.#root, shardFolder(shard));
      const target = join(folder, String(seq));
      try {
        await this.#refuseLinks(shard);
        const described = await describe(stagedFolder, seq);
        const seal = this.#seals.sealHex(payloadOfCheckpoint(shard, described, described.files));
        const manifest: FolderManifest = { ...described, seal };
        await writeFile(join(stagedFolder, MANIFEST), JSON.stringify(manifest), {
          mode: 0o600,
          flag: 'wx',
          flush: true,
        });
        await sync(stagedFolder);
        await mkdir(folder, { recursive: true, mode: 0o700 });
        await rm(target, { recursive: true, force: true });
        await rename(stagedFolder, target);
        for (const path of [folder, join(folder, '..'), this.#root]) await sync(path);
        for (const older of (await this.#seqs(shard)).slice(KEPT)) {
          await this.#remove(join(folder, String(older)));
        }
        return { seq, bytes: manifest.bytes, createdAt: manifest.createdAt };
      } catch (error) {
        await rm(stagedFolder, { recursive: true, force: true });
        throw error;
      }
    });
  }

  prune(shard: ShardKey, seq: number): Promise<void> {
    return this.#guarded('removing checkpoints', async () => {
      for (const older of (await this.#seqs(shard)).filter((found) => found < seq)) {
        await this.#remove(join(this.#root, shardFolder(shard), String(older)));
      }
      await this.#keepNewestAside(shard);
    });
  }

  list(shard: ShardKey): Promise<CheckpointInfo[]> {
    return this.#guarded('listing checkpoints', async () => {
      const infos: CheckpointInfo[] = [];
      for (const seq of await this.#seqs(shard)) {
        const manifest = await this.#manifest(shard, seq);
        if (manifest === null) await this.#unsound(shard, seq);
        else infos.push({ seq, bytes: manifest.bytes, createdAt: manifest.createdAt });
      }
      return infos;
    });
  }

  /** Nothing to do: `fetch` makes no copy. */
  async release(): Promise<void> {}

  fetch(shard: ShardKey, seq: number): Promise<FetchedCheckpoint | null> {
    return this.#guarded('reading a checkpoint', async () => {
      const folder = join(this.#root, shardFolder(shard), String(seq));
      if (!(await this.#seqs(shard)).includes(seq)) return null;
      const manifest = await this.#manifest(shard, seq);
      if (manifest !== null && (await matches(folder, manifest))) return { folder, files: manifest.files };
      await this.#unsound(shard, seq);
      return null;
    });
  }

  async setAside(shard: ShardKey, seq: number): Promise<void> {
    // The seq becomes part of a path that is removed.
    if (!Number.isSafeInteger(seq) || seq < 0) throw new RangeError('not the seq of a checkpoint');
    await this.#guarded('setting a checkpoint aside', () => this.#setAside(shard, seq));
  }

  drop(collectionId: CollectionId): Promise<void> {
    return this.#guarded('removing checkpoints', async () => {
      // If a path below the root is a symbolic link, `rm` removes only the link.
      if ((await firstSymbolicLink([this.#root])) !== null)
        throw damagedFile(this.#root, 'is a symbolic link', 'remove it');
      await rm(join(this.#root, collectionFolder(collectionId)), { recursive: true, force: true });
    });
  }

  /**
   * Returns the seqs of a shard's checkpoints, newest first; with `prefix`, those of the folders
   * named with it. Returns none, and logs an error, if a symbolic link is in the path.
   */
  async #seqs(shard: ShardKey, prefix = ''): Promise<number[]> {
    if ((await this.#linkAt(shard)) !== null) return [];
    const names = await readdir(join(this.#root, shardFolder(shard))).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return [];
      throw error;
    });
    return names
      .filter((name) => name.startsWith(prefix) && /^\d+$/.test(name.slice(prefix.length)))
      .map((name) => Number(name.slice(prefix.length)))
      .sort((a, b) => b - a);
  }

  /**
   * Returns the symbolic link in the path of a shard's checkpoints or of the staging folder; null
   * if there is none. Must be checked each time before anything there is written or removed.
   */
  async #linkAt(shard: ShardKey): Promise<string | null> {
    const folder = join(this.#root, shardFolder(shard));
    const link = await firstSymbolicLink([this.#staging, this.#root, dirname(folder), folder]);
    if (link !== null) this.#log?.error({ path: link }, LINKED);
    return link;
  }

  /** Throws StoreError 'damaged' if there is a symbolic link in the path. */
  async #refuseLinks(shard: ShardKey): Promise<void> {
    const link = await this.#linkAt(shard);
    if (link !== null) throw damagedFile(link, 'is a symbolic link', 'remove it');
  }

  /** Returns the manifest, or null if there is none that this service wrote. */
  async #manifest(shard: ShardKey, seq: number): Promise<FolderManifest | null> {
    const manifest = await readManifest(join(this.#root, shardFolder(shard), String(seq)), seq);
    if (manifest === null) return null;
    return this.#seals.verifyHex(payloadOfCheckpoint(shard, manifest, manifest.files), manifest.seal) ? manifest : null;
  }

  async #unsound(shard: ShardKey, seq: number): Promise<void> {
    this.#log?.error({ shard, seq }, UNSOUND_CHECKPOINT);
    await this.#setAside(shard, seq);
  }

  async #setAside(shard: ShardKey, seq: number): Promise<void> {
    if ((await this.#linkAt(shard)) !== null) return;
    const folder = join(this.#root, shardFolder(shard));
    const aside = join(folder, `${ASIDE}${seq}`);
    await rm(aside, { recursive: true, force: true });
    // Another process may have removed it in the meantime.
    await rename(join(folder, String(seq)), aside).catch(ignoreMissing);
    await this.#keepNewestAside(shard);
  }

  async #keepNewestAside(shard: ShardKey): Promise<void> {
    for (const seq of (await this.#seqs(shard, ASIDE)).slice(1)) {
      await rm(join(this.#root, shardFolder(shard), `${ASIDE}${seq}`), { recursive: true, force: true });
    }
  }

  /** Moves the folder away first, so that a checkpoint that still has its name is complete. */
  async #remove(folder: string): Promise<void> {
    const gone = join(this.#staging, `gone-${randomUUID()}`);
    await mkdir(this.#staging, { recursive: true, mode: 0o700 });
    await rename(folder, gone).catch(ignoreMissing);
    await rm(gone, { recursive: true, force: true });
  }

  async #guarded<T>(doing: string, work: () => Promise<T>): Promise<T> {
    if (this.#closed) throw new StoreError('closed', 'The store is closed.');
    const running = work();
    this.#running.add(running);
    try {
      return await running;
    } catch (error) {
      throw sqliteFailure(error, doing);
    } finally {
      this.#running.delete(running);
    }
  }
}

function ignoreMissing(error: NodeJS.ErrnoException): void {
  if (error.code !== 'ENOENT') throw error;
}

/** Returns the folder's name: never a string from outside, unless it is a UUID. */
function collectionFolder(collectionId: CollectionId): string {
  return UUID.test(collectionId) ? collectionId : hash('sha256', collectionId);
}

function shardFolder(shard: ShardKey): string {
  const { collectionId, index } = parseShardKey(shard);
  return join(collectionFolder(collectionId), String(index));
}

async function describe(folder: string, seq: number): Promise<Omit<FolderManifest, 'seal'>> {
  const files: FolderManifest['files'] = [];
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    if (!entry.isFile()) throw new RangeError(`a checkpoint may contain only files, not ${entry.name}`);
    if (entry.name === MANIFEST) throw new RangeError(`${MANIFEST} is reserved for the manifest`);
    await sync(join(folder, entry.name));
    files.push({ name: entry.name, ...(await digest(join(folder, entry.name))) });
  }
  const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
  return { seq, bytes, createdAt: new Date().toISOString(), files };
}

async function digest(path: string): Promise<{ bytes: number; sha256: string }> {
  const sha256 = createHash('sha256');
  const file = await open(path, 'r');
  try {
    // One buffer for the whole file: a stream would allocate one per chunk, which stay in memory
    // until they are collected.
    const chunk = Buffer.allocUnsafeSlow(DIGEST_STEP_BYTES);
    let bytes = 0;
    for (;;) {
      const { bytesRead } = await file.read(chunk, 0, chunk.length, bytes);
      if (bytesRead === 0) return { bytes, sha256: sha256.digest('hex') };
      sha256.update(chunk.subarray(0, bytesRead));
      bytes += bytesRead;
    }
  } finally {
    await file.close();
  }
}

/** Returns the manifest in a folder; null if there is none or it is malformed. */
export async function readManifest(folder: string, seq: number): Promise<FolderManifest | null> {
  let manifest: FolderManifest;
  try {
    manifest = JSON.parse(await readFile(join(folder, MANIFEST), 'utf8')) as FolderManifest;
  } catch (error) {
    if (error instanceof SyntaxError || systemCode(error) === 'ENOENT') return null;
    throw error;
  }
  const sound =
    manifest?.seq === seq &&
    Number.isSafeInteger(manifest.bytes) &&
    typeof manifest.createdAt === 'string' &&
    Array.isArray(manifest.files) &&
    manifest.files.every((file) => typeof file?.name === 'string' && !/[\\/]/.test(file.name));
  return sound ? manifest : null;
}

async function matches(folder: string, manifest: FolderManifest): Promise<boolean> {
  for (const file of manifest.files) {
    try {
      const found = await digest(join(folder, file.name));
      if (found.bytes !== file.bytes || found.sha256 !== file.sha256) return false;
    } catch (error) {
      if (systemCode(error) === 'ENOENT') return false;
      throw error;
    }
  }
  return true;
}

/** Flushes a file, or a folder's entries, to the disk. */
export async function sync(path: string): Promise<void> {
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
