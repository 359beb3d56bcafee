import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { ownIdentity } from '../../../lib/host/process-identity.ts';
import { DataDirError, lockDataDir } from '../../../process/data-dir.ts';
import { mountSmallDisk } from '../../support/small-disk.ts';

let folder: string;
const children: ChildProcess[] = [];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'provec-data-dir-'));
});
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
});

/** Starts a process that tries to lock the folder; resolves with its output. */
async function starter(): Promise<{ child: ChildProcess; said: string }> {
  const child = spawn(process.execPath, [join(import.meta.dirname, '../../support/lock-holder.ts'), folder], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  children.push(child);
  const [said] = await once(createInterface({ input: child.stdout! }), 'line');
  return { child, said: said as string };
}

async function ended(child: ChildProcess, how: () => void): Promise<void> {
  const exit = once(child, 'exit');
  how();
  await exit;
}

function lockFiles(): string[] {
  return readdirSync(folder).filter((name) => name.startsWith('lock'));
}

const disk = mountSmallDisk(1);
if (!disk) console.warn('SKIPPED: a data directory on a full disk needs root on Linux, to mount a small tmpfs.');

(disk ? describe : describe.skip)('the data directory on a full disk', () => {
  afterAll(() => disk!.unmount());

  test('is refused in a sentence that says what to do', async () => {
    disk!.leave(0);
    await expect(lockDataDir(disk!.folder)).rejects.toThrow(
      `The data directory ${disk!.folder} cannot be used (its disk is full: free a few MiB there, start again, `,
    );
  });
});

describe('the data directory', () => {
  test('is created for its owner only', async () => {
    folder = join(folder, 'a', 'b');
    const lock = await lockDataDir(folder);
    expect(statSync(folder).mode & 0o777).toBe(0o700);
    await lock.release();
  });

  test('keeps the mode of an existing folder', async () => {
    chmodSync(folder, 0o750);
    await (await lockDataDir(folder)).release();
    expect(statSync(folder).mode & 0o777).toBe(0o750);
  });

  test('that is a file is refused in a sentence', async () => {
    const file = join(folder, 'file');
    writeFileSync(file, '');
    await expect(lockDataDir(file)).rejects.toThrow(
      /^The data directory .* is a file, not a folder; set PROVEC_DATA_DIR to a folder\.$/,
    );
  });

  test('below a file is refused in a sentence that names the file', async () => {
    const file = join(folder, 'file');
    writeFileSync(file, '');
    await expect(lockDataDir(join(file, 'a', 'b'))).rejects.toThrow(
      `The data directory ${join(file, 'a', 'b')} cannot be created: ${file} is a file, not a folder; set PROVEC_DATA_DIR to a folder.`,
    );
  });

  test.each([
    ['/proc', '/proc/x'],
    ['/proc', '/proc/x/y'],
    ['/proc', '/proc'],
    ['/sys', '/sys/kernel/provec/data'],
    ['/dev', '/dev/provec/data'],
    ['/dev', '/dev'],
  ])('in %s is refused in a sentence: %s', async (root, path) => {
    for (const given of [path, `/tmp/..${path}/`]) {
      await expect(lockDataDir(given)).rejects.toThrow(
        new DataDirError(
          `The data directory ${given} is in ${root}, which cannot keep files; set PROVEC_DATA_DIR to a folder on a disk.`,
        ),
      );
    }
  });

  test('in /proc is detected through a symbolic link too', async () => {
    const link = join(folder, 'link');
    symlinkSync('/proc', link);
    await expect(lockDataDir(join(link, 'x'))).rejects.toThrow('is in /proc,');
  });

  test('may be created by several at once', async () => {
    folder = join(folder, 'a', 'b', 'c');
    const starters = await Promise.all(Array.from({ length: 4 }, starter));
    expect(starters.filter(({ said }) => said === 'locked')).toHaveLength(1);
  });

  test("is refused to a second process, with the first one's name, until that releases it", async () => {
    const first = await starter();
    expect(first.said).toBe('locked');
    await expect(lockDataDir(folder)).rejects.toThrow(
      new DataDirError(
        `The data directory ${folder} is in use by process ${first.child.pid}; stop it or set PROVEC_DATA_DIR to another folder.`,
      ),
    );
    await ended(first.child, () => first.child.stdin!.end());
    await (await lockDataDir(folder)).release();
  });

  test('is refused to the same process a second time', async () => {
    const lock = await lockDataDir(folder);
    await expect(lockDataDir(folder)).rejects.toThrow(`process ${process.pid}`);
    await lock.release();
    await lock.release();
    await (await lockDataDir(folder)).release();
  });

  test('is taken over at once from a killed process', async () => {
    const first = await starter();
    await ended(first.child, () => first.child.kill('SIGKILL'));
    const second = await starter();
    expect(second.said).toBe('locked');
    expect(lockFiles()).toHaveLength(1);
  });

  test("is taken over if the holder's pid now belongs to another process", async () => {
    const other = await starter();
    await ended(other.child, () => other.child.stdin!.end());
    const own = await ownIdentity();
    writeFileSync(join(folder, 'lock.7'), JSON.stringify({ ...own, startedAt: '1' }));
    const lock = await lockDataDir(folder);
    expect(lockFiles()).toEqual(['lock.8']);
    await lock.release();
  });

  test('is taken over if the lock file lost its bytes', async () => {
    writeFileSync(join(folder, 'lock.3'), '\0\0\0');
    await (await lockDataDir(folder)).release();
  });

  test('goes to exactly one of many that start at once over a stale lock', async () => {
    for (let round = 0; round < 3; round++) {
      const stale = await starter();
      await ended(stale.child, () => stale.child.kill('SIGKILL'));
      const starters = await Promise.all(Array.from({ length: 5 }, starter));
      const winners = starters.filter(({ said }) => said === 'locked');
      expect(winners).toHaveLength(1);
      for (const { said } of starters) {
        if (said !== 'locked') expect(said).toContain(`in use by process ${winners[0].child.pid};`);
      }
      await ended(winners[0].child, () => winners[0].child.stdin!.end());
    }
  });

  test('held from another container is refused while its beat advances, and taken over when it stops', async () => {
    const file = join(folder, 'lock.2');
    const elsewhere = { pid: 1, startedAt: '1', place: 'elsewhere' };
    writeFileSync(file, JSON.stringify(elsewhere));
    const beat = setInterval(() => utimesSync(file, new Date(), new Date()), 200);
    await expect(lockDataDir(folder)).rejects.toThrow('process 1;');
    clearInterval(beat);
    const lock = await lockDataDir(folder);
    expect(JSON.parse(readFileSync(join(folder, 'lock.3'), 'utf8'))).toEqual(await ownIdentity());
    await lock.release();
  });
});
