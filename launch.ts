/**
 * Entry point of `npm start`: runs start.ts with allocator and heap settings for a server.
 *
 * glibc keeps freed memory in an arena per thread and raises the size from which blocks are mapped
 * separately; after loading 61,666 records of 384 dimensions this held a quarter of the process's
 * memory. V8 grows the young generation of a busy thread to 128 MiB, but 32 MiB took no more CPU
 * time. Both can only be set before a process starts, so this one replaces itself, keeping its pid.
 * Compiled code is cached for all starts and workers; compiling is a third of an idle start.
 */
import { mkdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/**
 * Returns the cache setting if the folder can be created. Node itself would retry forever in some
 * read-only places.
 */
function compileCache(): { NODE_COMPILE_CACHE?: string } {
  const folder = fileURLToPath(new URL('./node_modules/.cache/provec', import.meta.url));
  try {
    mkdirSync(folder, { recursive: true });
    return { NODE_COMPILE_CACHE: folder };
  } catch {
    return {};
  }
}

const SETTINGS = {
  MALLOC_ARENA_MAX: '2',
  MALLOC_TRIM_THRESHOLD_: '131072',
  MALLOC_MMAP_THRESHOLD_: '8192',
  MALLOC_MMAP_MAX_: '16384',
};

/** MiB per semi-space, of which the young generation has two. */
const SEMI_SPACE_FLAG = '--max-semi-space-size';
const SEMI_SPACE_MAX_MIB = 16;

const isSet = Object.keys(SETTINGS).every((name) => process.env[name] !== undefined);
if (process.platform === 'linux' && !isSet && process.execve !== undefined) {
  const entry = fileURLToPath(new URL('./start.ts', import.meta.url));
  const environment = { ...compileCache(), ...SETTINGS, ...process.env };
  const isHeapSet = [...process.execArgv, process.env.NODE_OPTIONS ?? ''].some((text) =>
    text.includes(SEMI_SPACE_FLAG),
  );
  const heap = isHeapSet ? [] : [`${SEMI_SPACE_FLAG}=${SEMI_SPACE_MAX_MIB}`];
  process.execve(
    process.execPath,
    [process.execPath, ...heap, ...process.execArgv, entry, ...process.argv.slice(2)],
    environment,
  );
}
await import('./start.ts');
