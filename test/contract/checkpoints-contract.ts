import { hash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import type { StoreUnderTest } from './store-contract.ts';
import { newCollection } from './store-rows.ts';

export function checkpointsContract(subject: StoreUnderTest): void {
  const newShard = () => `${newCollection().id}.7`;

  async function write(shard: string, seq: number): Promise<void> {
    const folder = await subject.store.checkpoints.stage(shard);
    writeFileSync(join(folder, 'index.bin'), Buffer.alloc(3_000_000, seq));
    writeFileSync(join(folder, 'empty'), '');
    const info = await subject.store.checkpoints.put(shard, seq, folder);
    expect(info).toMatchObject({ seq, bytes: 3_000_000 });
    expect(existsSync(folder)).toBe(false);
  }
  const seqs = async (shard: string) => (await subject.store.checkpoints.list(shard)).map(({ seq }) => seq);

  describe('checkpoints', () => {
    test('a checkpoint is returned with its files', async () => {
      const shard = newShard();
      await write(shard, 9);
      const fetched = (await subject.store.checkpoints.fetch(shard, 9))!;
      expect(readFileSync(join(fetched.folder, 'index.bin')).equals(Buffer.alloc(3_000_000, 9))).toBe(true);
      expect(readFileSync(join(fetched.folder, 'empty')).length).toBe(0);
      const sha256 = hash('sha256', Buffer.alloc(3_000_000, 9));
      expect(fetched.files).toContainEqual({ name: 'index.bin', bytes: 3_000_000, sha256 });
      await subject.store.checkpoints.release(fetched);
      await subject.store.checkpoints.release(fetched);
      expect(await subject.store.checkpoints.fetch(shard, 9)).not.toBeNull();
      expect(await subject.store.checkpoints.fetch(shard, 8)).toBeNull();
      expect(await seqs(newShard())).toEqual([]);
      expect(await subject.store.checkpoints.fetch(newShard(), 9)).toBeNull();
    });

    test('the newest two are kept, whatever the number of digits', async () => {
      const shard = newShard();
      for (const seq of [8, 9, 10, 100]) await write(shard, seq);
      expect(await seqs(shard)).toEqual([100, 10]);
      expect(await subject.store.checkpoints.fetch(shard, 9)).toBeNull();
      expect(await subject.store.checkpoints.fetch(shard, 10)).not.toBeNull();
    });

    test('another one at the same seq replaces the first', async () => {
      const shard = newShard();
      await write(shard, 5);
      const folder = await subject.store.checkpoints.stage(shard);
      writeFileSync(join(folder, 'other'), 'x');
      await subject.store.checkpoints.put(shard, 5, folder);
      expect(await subject.store.checkpoints.list(shard)).toMatchObject([{ seq: 5, bytes: 1 }]);
      expect(existsSync(join((await subject.store.checkpoints.fetch(shard, 5))!.folder, 'index.bin'))).toBe(false);
    });

    test('an unsound one is set aside and never offered again', async () => {
      const shard = newShard();
      await write(shard, 1);
      await write(shard, 2);
      expect(await subject.store.checkpoints.fetch(shard, 2)).not.toBeNull();
      await subject.spoil(shard, 2, 'index.bin');
      expect(await subject.store.checkpoints.fetch(shard, 2)).toBeNull();
      expect(await seqs(shard)).toEqual([1]);
      await subject.reopen();
      expect(await seqs(shard)).toEqual([1]);
      await write(shard, 2);
      expect(await seqs(shard)).toEqual([2, 1]);
      expect(await subject.store.checkpoints.fetch(shard, 2)).not.toBeNull();
    });

    test('one written without the secret is set aside, whatever its checksums', async () => {
      const shard = newShard();
      await write(shard, 1);
      await subject.forge(async ({ checkpoints }) => {
        const folder = await checkpoints.stage(shard);
        writeFileSync(join(folder, 'index.bin'), 'forged');
        await checkpoints.put(shard, 2, folder);
      });
      expect(await subject.store.checkpoints.fetch(shard, 2)).toBeNull();
      expect(await subject.setAside(shard)).toEqual([2]);
      expect(await subject.store.checkpoints.fetch(shard, 1)).not.toBeNull();
    });

    test('one that was being read when the store closed normally is offered again', async () => {
      const shard = newShard();
      await write(shard, 1);
      await subject.store.checkpoints.fetch(shard, 1);
      const { checkpoints } = await subject.reopen();
      expect(await checkpoints.fetch(shard, 1)).not.toBeNull();
    });

    test('of unsound ones the newest stays set aside', async () => {
      const shard = newShard();
      await write(shard, 1);
      await write(shard, 2);
      for (const seq of [2, 1]) {
        await subject.spoil(shard, seq, 'index.bin');
        expect(await subject.store.checkpoints.fetch(shard, seq)).toBeNull();
        expect(await subject.setAside(shard)).toEqual([2]);
      }
      await write(shard, 3);
      await subject.spoil(shard, 3, 'index.bin');
      expect(await subject.store.checkpoints.fetch(shard, 3)).toBeNull();
      expect(await subject.setAside(shard)).toEqual([3]);
      for (const seq of [4, 5, 6]) await write(shard, seq);
      await subject.store.checkpoints.prune(shard, 7);
      expect(await subject.setAside(shard)).toEqual([3]);
    });

    test('those before a seq are removed, and no others', async () => {
      const [shard, other] = [newShard(), newShard()];
      for (const seq of [7, 9]) for (const each of [shard, other]) await write(each, seq);
      const { checkpoints } = subject.store;
      await checkpoints.prune(newShard(), 100);
      await checkpoints.prune(shard, 7);
      expect(await seqs(shard)).toEqual([9, 7]);
      await checkpoints.prune(shard, 8);
      await checkpoints.prune(shard, 8);
      expect(await seqs(shard)).toEqual([9]);
      expect(await checkpoints.fetch(shard, 7)).toBeNull();
      expect(await checkpoints.fetch(shard, 9)).not.toBeNull();
      await checkpoints.prune(shard, 10);
      expect(await seqs(shard)).toEqual([]);
      expect(await seqs(other)).toEqual([9, 7]);
      await subject.reopen();
      expect(await seqs(shard)).toEqual([]);
    });

    test('staged folders are new and separate, and gone after a restart', async () => {
      const shard = newShard();
      const folders = await Promise.all([1, 2].map(() => subject.store.checkpoints.stage(shard)));
      expect(folders[0]).not.toBe(folders[1]);
      for (const folder of folders) writeFileSync(join(folder, 'half'), 'x');
      await write(shard, 3);
      await subject.reopen();
      for (const folder of folders) expect(existsSync(folder)).toBe(false);
      expect(await seqs(shard)).toEqual([3]);
    });

    test('a discarded folder is removed with its content, and no other', async () => {
      const { checkpoints } = subject.store;
      const shard = newShard();
      const [folder, beside] = [await checkpoints.stage(shard), await checkpoints.stage(shard)];
      for (const staged of [folder, beside]) writeFileSync(join(staged, 'half'), 'x');
      await checkpoints.discard(folder);
      await checkpoints.discard(folder);
      expect(existsSync(folder)).toBe(false);
      await checkpoints.put(shard, 5, beside);
      await checkpoints.discard(beside);
      const kept = (await checkpoints.fetch(shard, 5))!.folder;
      expect(readFileSync(join(kept, 'half'), 'utf8')).toBe('x');
      await expect(checkpoints.discard(kept)).rejects.toThrow(RangeError);
      expect(await seqs(shard)).toEqual([5]);
    });

    test('survives a restart', async () => {
      const shard = newShard();
      await write(shard, 4);
      const before = await subject.store.checkpoints.list(shard);
      const { checkpoints } = await subject.reopen();
      expect(await checkpoints.list(shard)).toEqual(before);
      expect(await checkpoints.fetch(shard, 4)).not.toBeNull();
    });
  });
}
