/**
 * What `npm start` runs: start.ts, in a process whose allocator is set for a server that holds
 * large blocks, and whose heap for a server that lives on small ones.
 *
 * glibc keeps what threads freed in an arena of each thread, and raises the size from which blocks
 * are mapped by themselves: after loading 61,666 records of 384 dimensions that was a quarter of
 * the process. V8 lets the young objects of a thread under load grow to 128 MiB, four times what a
 * gateway has at its start, with nothing gained: it took no more processor time with 32. All of
 * this can only be set before a process begins, so this one replaces itself, with the same pid.
 *
 * Its code is compiled once for all starts and workers: that is a third of an idle start.
 */
import { mkdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/**
 * The folder, or nothing: Node itself would try for ever to make one in some places that cannot be
 * written.
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

/** MiB, of each half of what is kept for young objects. */
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
