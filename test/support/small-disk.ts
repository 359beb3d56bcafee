import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A small disk in memory. */
export interface SmallDisk {
  readonly folder: string;
  readonly freeBytes: number;
  /** Fills the disk until about `freeBytes` are free; frees space if fewer are free. */
  leave(freeBytes: number): void;
  unmount(): void;
}

const TRIES = 20;
const BLOCK_BYTES = 4_096;

/** Mounts a disk of `mib` MiB; returns null when that is not permitted. */
export function mountSmallDisk(mib: number): SmallDisk | null {
  const folder = mkdtempSync(join(tmpdir(), 'provec-disk-'));
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${mib}m`, 'tmpfs', folder], { stdio: 'ignore' });
  } catch {
    rmSync(folder, { recursive: true });
    return null;
  }
  const ballast = join(folder, 'ballast');
  const free = (): number => {
    const { bavail, bsize } = statfsSync(folder);
    return bavail * bsize;
  };
  return {
    folder,
    get freeBytes() {
      return free();
    },
    leave(freeBytes) {
      for (let triesLeft = TRIES; ; triesLeft--) {
        rmSync(ballast, { force: true });
        const bytes = Math.floor((free() - freeBytes) / BLOCK_BYTES) * BLOCK_BYTES;
        try {
          if (bytes > 0) writeFileSync(ballast, Buffer.alloc(bytes));
          return;
        } catch (error) {
          // Other writers may have taken some of the space meanwhile.
          if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
          if (freeBytes === 0) return;
          if (triesLeft === 1) throw error;
        }
      }
    },
    unmount() {
      execFileSync('umount', ['-l', folder]);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
