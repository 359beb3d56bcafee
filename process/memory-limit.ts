import { readFileSync } from 'node:fs';
import { totalmem } from 'node:os';

/**
 * Returns the memory, in MiB, that this process may use: the machine's, or the limit of its cgroup
 * (v2, v1) if that is lower.
 */
export function memoryLimitMiB(): number {
  let bytes = totalmem();
  for (const file of ['/sys/fs/cgroup/memory.max', '/sys/fs/cgroup/memory/memory.limit_in_bytes']) {
    try {
      const limit = Number(readFileSync(file, 'utf8'));
      if (limit > 0 && limit < bytes) bytes = limit;
    } catch {
      // This system does not have the file.
    }
  }
  return Math.floor(bytes / 2 ** 20);
}
