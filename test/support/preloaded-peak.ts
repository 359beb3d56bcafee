/**
 * Preloaded (`--import`) into a command. When it ends, it writes its peak of resident memory, in
 * bytes, to the file that PROVEC_TEST_PEAK names. Linux only.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';

/** Returns the peak of resident memory of a process, in bytes. */
export function peakOf(pid: number | 'self'): number {
  const [, kib] = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))!;
  return Number(kib) * 1_024;
}

const { PROVEC_TEST_PEAK: file } = process.env;
if (isMainThread && file !== undefined) process.on('exit', () => writeFileSync(file, `${peakOf('self')}`));
