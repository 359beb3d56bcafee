import { readFileSync } from 'node:fs';
import { totalmem } from 'node:os';

/**
 * Memory this process may use in MiB: the machine's, or its cgroup's (v2, v1) where that is less.
 */
export function memoryLimitMiB(): number {
  let bytes = totalmem();
  for (const file of ['/sys/fs/cgroup/memory.max', '/sys/fs/cgroup/memory/memory.limit_in_bytes']) {
    try {
      const limit = Number(readFileSync(file, 'utf8'));
      if (limit > 0 && limit < bytes) bytes = limit;
    } catch {}
  }
  return Math.floor(bytes / 2 ** 20);
}
