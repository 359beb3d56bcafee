import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
const gc = runInNewContext('gc') as (options?: { type: 'major'; execution: 'sync'; flavor: 'last-resort' }) => void;

/**
 * Heap size above which a full collection blocks the thread for longer than the freed memory is
 * worth.
 */
const HEAP_MAX_BYTES = 128 * 2 ** 20;

/**
 * Collects garbage. Memory outside the heap (graphs, vectors, log entries) is freed only with the
 * small objects that own it, which V8 is in no hurry to collect.
 */
export function collectGarbage(): void {
  if (isSmall()) gc();
}

/**
 * Does what `collectGarbage` does, and also frees the space that V8 keeps for young objects, some
 * 60 MiB after a load. Takes twice as long.
 */
function shrinkHeap(): void {
  if (isSmall()) gc({ type: 'major', execution: 'sync', flavor: 'last-resort' });
}

const isSmall = (): boolean => getHeapStatistics().used_heap_size <= HEAP_MAX_BYTES;

const GROWTH_BYTES = 64 * 2 ** 20;
const QUIET_MS = 500;
/** Growth, in bytes, below which loading counts as finished. */
const TRICKLE_BYTES = 2 ** 20;

/**
 * Collects garbage half a second after much data was loaded. Loaded data passes through this
 * thread's heap, and V8 alone would return the memory some ten seconds later.
 */
export class GarbageAfterGrowth {
  #bytes = 0;
  #collectedAtBytes = 0;
  #waitsSinceBytes = 0;
  #timer: NodeJS.Timeout | null = null;

  /** Reports the number of bytes now held outside this heap. */
  reportSize(bytes: number): void {
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

/**
 * Collects garbage half a second after most of a large amount of memory was released. V8 alone may
 * keep a heap that has grown for as long as little happens in the process.
 */
export class GarbageAfterRelease {
  #heldBytes = 0;
  #peakBytes = 0;
  #timer: NodeJS.Timeout | null = null;

  /** Reports the number of bytes now held in this heap. */
  reportHeld(bytes: number): void {
    this.#heldBytes = bytes;
    this.#peakBytes = Math.max(this.#peakBytes, bytes);
    if (!this.#isDue()) return;
    this.#timer ??= setTimeout(() => this.#collect(), QUIET_MS).unref();
  }

  #isDue(): boolean {
    return this.#peakBytes - this.#heldBytes >= GROWTH_BYTES && this.#heldBytes < GROWTH_BYTES;
  }

  #collect(): void {
    this.#timer = null;
    if (!this.#isDue()) return;
    this.#peakBytes = this.#heldBytes;
    gc({ type: 'major', execution: 'sync', flavor: 'last-resort' });
  }
}
