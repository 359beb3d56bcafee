import { unavailable } from '../../../lib/errors.ts';
import type { Clock } from '../../../lib/time/clock.ts';
import { ShardTransitioning } from '../shard/failure.ts';
import type { NodeMemory } from './node-memory.ts';

/** Maximum number of shards opening on one node at the same time. */
export const CONCURRENT_OPENINGS_MAX = 8;
const OVERDRAFT_AFTER_MS = 2_000;
const REFUSE_AFTER_MS = 20_000;

/**
 * Closes idle shards if that makes `bytes` fit, otherwise none. Returns whether they fit now or no
 * shard is open.
 */
type MakeRoom = (bytes: number, overdraft: boolean) => Promise<boolean>;
type GateMemory = Pick<NodeMemory, 'opening' | 'reserved' | 'fits'>;

interface Candidate {
  bytes: number;
  sinceMs: number;
  enter(): void;
  refuse(error: Error): void;
}

/**
 * Limits how many shards open at once and admits each only when its memory is available, counting
 * those already opening. Otherwise many simultaneous requests for closed shards would exceed any
 * limit before the first shard could be closed again. A shard that has waited long may use the
 * overdraft, so that a small shard can open beside a large, never idle one; if that is used up too,
 * it is refused. Shards enter in order of arrival, but one that fits now does not wait for one that
 * cannot be made to fit. Concurrency limiters from packages cannot check memory.
 */
export class OpeningGate {
  readonly #clock: Clock;
  readonly #memory: GateMemory;
  readonly #makeRoom: MakeRoom;
  #queue: Candidate[] = [];
  #admitting = false;
  #again = false;
  #closed = false;

  constructor(clock: Clock, memory: GateMemory, makeRoom: MakeRoom) {
    this.#clock = clock;
    this.#memory = memory;
    this.#makeRoom = makeRoom;
  }

  /**
   * Runs `open` once there is memory for `bytes`. Throws UNAVAILABLE after waiting too long, and
   * ShardTransitioning once the gate is closed.
   */
  async pass<T>(bytes: number, open: () => Promise<T>): Promise<T> {
    if (this.#closed) throw stopping();
    const { promise: turn, resolve: enter, reject: refuse } = Promise.withResolvers<void>();
    // A timer of its own, because no other event may occur while the shard waits.
    const timer = setInterval(() => this.changed(), OVERDRAFT_AFTER_MS);
    this.#queue.push({ bytes, sinceMs: this.#clock.monotonicMs(), enter, refuse });
    this.changed();
    await turn.finally(() => clearInterval(timer));
    try {
      return await open();
    } finally {
      this.#memory.opening--;
      this.#memory.reserved -= bytes;
      this.changed();
    }
  }

  /** Call this when a shard was closed or became idle, or an opening ended. */
  changed(): void {
    this.#again = true;
    if (!this.#admitting && this.#queue.length > 0) void this.#admit();
  }

  /** Refuses all waiting and all later requests. */
  close(): void {
    this.#closed = true;
    for (const candidate of this.#queue.splice(0)) candidate.refuse(stopping());
  }

  async #admit(): Promise<void> {
    this.#admitting = true;
    try {
      while (this.#again) {
        this.#again = false;
        for (const candidate of [...this.#queue]) {
          if (this.#memory.opening >= CONCURRENT_OPENINGS_MAX) break;
          await this.#consider(candidate);
        }
      }
    } finally {
      this.#admitting = false;
    }
  }

  async #consider(candidate: Candidate): Promise<void> {
    const waitedMs = this.#clock.monotonicMs() - candidate.sinceMs;
    const overdraft = waitedMs >= OVERDRAFT_AFTER_MS;
    const isFirst = this.#queue[0] === candidate;
    const fits = isFirst
      ? await this.#makeRoom(candidate.bytes, overdraft)
      : this.#memory.fits(candidate.bytes, overdraft);
    const at = this.#queue.indexOf(candidate);
    if (at < 0 || (!fits && waitedMs < REFUSE_AFTER_MS)) return;
    this.#queue.splice(at, 1);
    if (fits) {
      this.#memory.opening++;
      this.#memory.reserved += candidate.bytes;
      candidate.enter();
    } else candidate.refuse(unavailable('There is no memory to open the collection now; try again.'));
  }
}

/** The caller then tries another node, which may have the memory. */
const stopping = () => new ShardTransitioning('The service is stopping.');
