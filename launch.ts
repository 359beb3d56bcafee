/**
 * Entry point of `npm start`: runs start.ts with allocator and heap settings for a server.
 *
 * glibc keeps freed memory in an arena per thread and raises the size from which blocks are mapped
 * separately; after loading 61,666 records this held a quarter of the process's memory. V8 grows
 * the young generation of a busy thread to 128 MiB, and lets a heap grow to four times of what
 * lives. 32 MiB and twice took no more CPU time. All this can only be set before a process starts,
 * so this one replaces itself, keeping its pid. Compiled code is cached for all starts and workers;
 * compiling is a third of an idle start.
 */
import { mkdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { moduleBeside } from './lib/module-beside.ts';

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
/** Growth, in percent, of a heap beyond its live objects before V8 collects it. */
const GROWTH_FLAG = '--heap-growing-percent';
const GROWTH_PERCENT = 100;

const isSet = Object.keys(SETTINGS).every((name) => process.env[name] !== undefined);
if (process.platform === 'linux' && !isSet && process.execve !== undefined) {
  const entry = fileURLToPath(moduleBeside('./start', import.meta.url));
  const environment = { ...compileCache(), ...SETTINGS, ...process.env };
  const given = [...process.execArgv, process.env.NODE_OPTIONS ?? ''].join(' ');
  const heap = [[SEMI_SPACE_FLAG, SEMI_SPACE_MAX_MIB] as const, [GROWTH_FLAG, GROWTH_PERCENT] as const].flatMap(
    ([flag, value]) => (given.includes(flag) ? [] : [`${flag}=${value}`]),
  );
  process.execve(
    process.execPath,
    [process.execPath, ...heap, ...process.execArgv, entry, ...process.argv.slice(2)],
    environment,
  );
}
await import('./start.ts');
