import { randomUUID } from 'node:crypto';
import { readdir, rename, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { systemCode } from '../../lib/host/system-error.ts';
import { shardKey } from '../../lib/shard/key.ts';
import type { CheckpointRow } from '../resealing.ts';
import type { Sealed } from '../sealed.ts';
import { MANIFEST, readManifest, sync, UUID } from './checkpoints.ts';

const INDEX = /^\d{1,3}$/;
const SEQ = /^\d+$/;

/**
 * Iterates over the manifests of the checkpoints below `root`, one collection at a time. `id` is
 * the path of the checkpoint's folder.
 */
export async function* checkpointRows(root: string): AsyncIterable<Sealed<CheckpointRow>[]> {
  for (const collectionId of await named(root, UUID)) {
    const rows: Sealed<CheckpointRow>[] = [];
    for (const index of await named(join(root, collectionId), INDEX)) {
      for (const seq of await named(join(root, collectionId, index), SEQ)) {
        const id = join(root, collectionId, index, seq);
        const manifest = await readManifest(id, Number(seq));
        if (manifest) rows.push({ ...manifest, id, shard: shardKey(collectionId, Number(index)) });
      }
    }
    yield rows;
  }
}

/**
 * Replaces the seal in a manifest, durably; returns false if the manifest no longer has the seal
 * `before`.
 */
export async function replaceManifestSeal({ id, seq }: CheckpointRow, before: string, seal: string): Promise<boolean> {
  const manifest = await readManifest(id, seq);
  if (manifest?.seal !== before) return false;
  // Not inside the checkpoint's folder, which holds only the files that its manifest names.
  const draft = join(dirname(id), `manifest-${randomUUID()}`);
  await writeFile(draft, JSON.stringify({ ...manifest, seal }), { mode: 0o600, flag: 'wx', flush: true });
  await rename(draft, join(id, MANIFEST));
  await sync(id);
  return true;
}

async function named(folder: string, pattern: RegExp): Promise<string[]> {
  try {
    return (await readdir(folder)).filter((name) => pattern.test(name)).sort();
  } catch (error) {
    const code = systemCode(error);
    if (code === 'ENOENT' || code === 'ENOTDIR') return [];
    throw error;
  }
}
