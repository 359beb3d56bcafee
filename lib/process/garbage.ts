import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
const gc = runInNewContext('gc') as (options?: { type: 'major'; execution: 'sync'; flavor: 'last-resort' }) => void;

/** A full collection of a larger heap would hold its thread for longer than the memory is worth. */
const HEAP_MAX_BYTES = 128 * 2 ** 20;

/**
 * Memory outside the heap (graphs, vectors, log entries) is given back only with the small objects
 * that own it, for which V8 sees no reason to hurry.
 */
export function collectGarbage(): void {
  if (isSmall()) gc();
}

/**
 * As `collectGarbage`, and gives back the room that V8 keeps for young objects, some 60 MiB after a
 * load; it takes twice as long.
 */
function shrinkHeap(): void {
  if (isSmall()) gc({ type: 'major', execution: 'sync', flavor: 'last-resort' });
}

const isSmall = (): boolean => getHeapStatistics().used_heap_size <= HEAP_MAX_BYTES;

const GROWTH_BYTES = 64 * 2 ** 20;
const QUIET_MS = 500;
/** Less than this is no load that goes on. */
const TRICKLE_BYTES = 2 ** 20;

/**
 * What is loaded passes through this thread's heap, and V8 gives the room back some ten seconds
 * after the last of it: this collects half a second after, when enough was loaded.
 */
export class GarbageAfterGrowth {
  #bytes = 0;
  #collectedAtBytes = 0;
  #waitsSinceBytes = 0;
  #timer: NodeJS.Timeout | null = null;

  /** So many bytes are held elsewhere now. */
  grewTo(bytes: number): void {
    this.#bytes = bytes;
    this.#collectedAtBytes = Math.min(this.#collectedAtBytes, bytes);
    if (bytes - this.#collectedAtBytes < GROWTH_BYTES) return;
    if (this.#timer !== null && bytes - this.#waitsSinceBytes < TRICKLE_BYTES) return;
    this.#waitsSinceBytes = bytes;
    this.#timer ??= setTimeout(() => this.#collect(), QUIET_MS).unref();
    this.#timer.refresh();
  }

  #collect(): void {
    this.#timer = null;
    this.#collectedAtBytes = this.#bytes;
    shrinkHeap();
  }
}
