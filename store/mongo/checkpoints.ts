/**
 * Checkpoints in GridFS, readable by every node. The local folder only holds checkpoints being
 * written or read. A fetched checkpoint stays there until another one of its shard is fetched or
 * put, or until the next start.
 *
 * Each attempt has its own manifest, stored first with the ids of its future files, so that
 * leftovers of a failed attempt can be found. Once every file is stored, setting its state to
 * 'whole' creates the checkpoint. Removal sets the state to 'removed', then deletes the files, then
 * the manifest.
 */

import { randomUUID } from 'node:crypto';
import { mkdir, readdir, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type Collection, ObjectId } from 'mongodb';
import type { Logger } from 'pino';
import type { CollectionId } from '../../lib/ids.ts';
import type { Seals } from '../../lib/secret/seals.ts';
import type { ShardKey } from '../../lib/shard/key.ts';
import {
  type CheckpointInfo,
  type FetchedCheckpoint,
  payloadOfCheckpoint,
  type StoredCheckpoints,
  UNSOUND_CHECKPOINT,
} from '../checkpoints.ts';
import { StoreError } from '../port.ts';
import { CheckpointFiles, type StoredFile } from './checkpoint-files.ts';
import type { Connection } from './connection.ts';
import { count, fields, listOf, text, whole } from './document-form.ts';
import { type IdRange, idPart, joined, numberPart, shardPart, under } from './document-id.ts';

const KEPT = 2;
const FILE = fields({ name: text, bytes: whole, sha256: text, file: (value) => value instanceof ObjectId });
const MANIFEST = fields({ seq: count, bytes: whole, createdAt: text, files: listOf(FILE) });

/** `_id`: shard, seq, attempt. */
export interface GridManifest {
  _id: string;
  seq: number;
  state: 'writing' | 'whole' | 'unsound' | 'removed';
  bytes: number;
  createdAt: string;
  files: StoredFile[];
  /** Empty until the checkpoint is whole. */
  seal: string;
}

export class GridCheckpoints implements StoredCheckpoints {
  readonly #connection: Connection;
  readonly #manifests: Collection<GridManifest>;
  readonly #files: CheckpointFiles;
  readonly #staging: string;
  readonly #fetched: string;
  readonly #seals: Seals;
  readonly #log: Pick<Logger, 'error'> | undefined;

  /** `folder` belongs to this store alone. */
  constructor(connection: Connection, seals: Seals, folder: string, log?: Pick<Logger, 'error'>) {
    this.#connection = connection;
    this.#seals = seals;
    this.#log = log;
    this.#manifests = connection.collection('checkpoints');
    this.#files = new CheckpointFiles(connection);
    this.#staging = join(folder, 'staging');
    this.#fetched = join(folder, 'fetched');
  }

  /** Clears what an earlier process left in the folder. */
  async open(): Promise<void> {
    for (const folder of [this.#staging, this.#fetched]) {
      await rm(folder, { recursive: true, force: true });
      await mkdir(folder, { recursive: true, mode: 0o700 });
    }
  }

  async stage(shard: ShardKey): Promise<string> {
    return newFolder(this.#staging, shard);
  }

  async discard(stagedFolder: string): Promise<void> {
    if (dirname(stagedFolder) !== this.#staging) throw new RangeError('not a staged folder');
    await removeFolder(stagedFolder);
  }

  async put(shard: ShardKey, seq: number, stagedFolder: string): Promise<CheckpointInfo> {
    const part = shardPart(shard);
    try {
      const info = await this.#write(shard, seq, stagedFolder);
      await this.#clearAway(part, seq);
      await this.#removeFetched(under(part).$gte);
      return info;
    } finally {
      await removeFolder(stagedFolder);
    }
  }

  async prune(shard: ShardKey, seq: number): Promise<void> {
    const part = shardPart(shard);
    const aside = await this.#unsound(part);
    const older = await this.#manifests.find({ _id: under(part), seq: { $lt: seq } }).toArray();
    await this.#removeAll([...older.filter(({ state }) => state !== 'unsound'), ...aside.slice(1)]);
  }

  async list(shard: ShardKey): Promise<CheckpointInfo[]> {
    const whole = await this.#whole(under(shardPart(shard)));
    return whole.map(({ seq, bytes, createdAt }) => ({ seq, bytes, createdAt }));
  }

  async fetch(shard: ShardKey, seq: number): Promise<FetchedCheckpoint | null> {
    const part = shardPart(shard);
    const [manifest] = await this.#whole(under(part, numberPart(seq)));
    if (manifest === undefined) return null;
    await this.#removeFetched(under(part).$gte);
    const folder = await newFolder(this.#fetched, shard);
    try {
      if (this.#isSealed(shard, manifest) && (await this.#download(manifest, folder)))
        return { folder, files: manifest.files.map(({ name, bytes, sha256 }) => ({ name, bytes, sha256 })) };
      this.#log?.error({ shard, seq }, UNSOUND_CHECKPOINT);
      await this.#setAside(part, seq);
    } catch (error) {
      await removeFolder(folder);
      throw error;
    }
    await removeFolder(folder);
    return null;
  }

  async release({ folder }: FetchedCheckpoint): Promise<void> {
    await removeFolder(folder);
  }

  async setAside(shard: ShardKey, seq: number): Promise<void> {
    await this.#setAside(shardPart(shard), seq);
  }

  /** Removes all checkpoints of a collection and their fetched copies. Part of dropping it. */
  async remove(collectionId: CollectionId): Promise<void> {
    const shards = under(idPart(collectionId));
    await this.#removeAll(await this.#manifests.find({ _id: shards }).toArray());
    await this.#removeFetched(shards.$gte);
  }

  #isSealed(shard: ShardKey, { files, seal, ...info }: GridManifest): boolean {
    return this.#seals.verifyHex(payloadOfCheckpoint(shard, info, files), seal);
  }

  async #setAside(part: string, seq: number): Promise<void> {
    const one = { _id: under(part, numberPart(seq)), state: 'whole' as const };
    await this.#manifests.updateMany(one, { $set: { state: 'unsound' } });
    await this.#removeAll((await this.#unsound(part)).slice(1));
  }

  async #write(shard: ShardKey, seq: number, stagedFolder: string): Promise<CheckpointInfo> {
    const _id = joined(shardPart(shard), numberPart(seq), randomUUID());
    const names: string[] = [];
    for (const entry of await readdir(stagedFolder, { withFileTypes: true })) {
      if (!entry.isFile()) throw new RangeError(`a checkpoint may contain only files, not ${entry.name}`);
      names.push(entry.name);
    }
    const planned = names.map((name) => ({ name, bytes: 0, sha256: '', file: new ObjectId() }));
    await this.#manifests.insertOne({ _id, seq, state: 'writing', bytes: 0, createdAt: '', files: planned, seal: '' });
    const files: StoredFile[] = [];
    for (const { name, file } of planned) files.push(await this.#files.upload(stagedFolder, name, file));
    const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
    const info = { seq, bytes, createdAt: new Date().toISOString() };
    const { matchedCount } = await this.#manifests.updateOne(
      { _id, state: 'writing' },
      { $set: { ...info, files, state: 'whole', seal: this.#seals.sealHex(payloadOfCheckpoint(shard, info, files)) } },
    );
    // Another node now owns the shard, has written a newer checkpoint and removed the older ones.
    if (matchedCount === 0) {
      for (const { file } of planned) await this.#files.remove(file);
      throw new StoreError('unavailable', 'A newer checkpoint was written in the meantime.');
    }
    return info;
  }

  /**
   * Removes failed attempts and checkpoints up to `seq`, except the newest two whole ones and the
   * newest damaged one.
   */
  async #clearAway(part: string, seq: number): Promise<void> {
    const whole = (await this.#whole(under(part))).slice(0, KEPT);
    const kept = new Set([...whole, ...(await this.#unsound(part)).slice(0, 1)].map(({ _id }) => _id));
    const all = await this.#manifests.find({ _id: under(part) }).toArray();
    await this.#removeAll(all.filter((manifest) => manifest.seq <= seq && !kept.has(manifest._id)));
  }

  async #removeAll(manifests: GridManifest[]): Promise<void> {
    for (const { _id, files } of manifests) {
      this.#connection.assertOpen();
      await this.#manifests.updateOne({ _id }, { $set: { state: 'removed' } });
      // A modified manifest may list files that are not files.
      const known = Array.isArray(files) ? files.filter((each) => each?.file instanceof ObjectId) : [];
      for (const { file } of known) await this.#files.remove(file);
      await this.#manifests.deleteOne({ _id });
    }
  }

  async #removeFetched(prefix: string): Promise<void> {
    for (const name of await readdir(this.#fetched)) {
      if (name.startsWith(prefix)) await removeFolder(join(this.#fetched, name));
    }
  }

  async #unsound(part: string): Promise<GridManifest[]> {
    const found = await this.#manifests.find({ _id: under(part), state: 'unsound' }).toArray();
    return found.sort(newestFirst);
  }

  /**
   * Returns the complete checkpoints in a range, newest first, and only the latest attempt of each
   * seq.
   */
  async #whole(range: IdRange): Promise<GridManifest[]> {
    const found = await this.#manifests.find({ _id: range, state: 'whole' }).sort({ _id: -1 }).toArray();
    const newest = found.filter(MANIFEST).sort(newestFirst);
    return newest.filter((manifest, at) => manifest.seq !== newest[at - 1]?.seq);
  }

  async #download(manifest: GridManifest, folder: string): Promise<boolean> {
    for (const file of manifest.files) {
      if (/[\\/]/.test(file.name) || !(await this.#files.download(file, folder))) return false;
    }
    return true;
  }
}

const newestFirst = (a: GridManifest, b: GridManifest): number =>
  b.seq - a.seq || Date.parse(b.createdAt) - Date.parse(a.createdAt);

async function newFolder(parent: string, shard: ShardKey): Promise<string> {
  const folder = join(parent, joined(shardPart(shard), randomUUID()));
  await mkdir(folder, { mode: 0o700 });
  return folder;
}

async function removeFolder(folder: string): Promise<void> {
  await rm(folder, { recursive: true, force: true });
}
