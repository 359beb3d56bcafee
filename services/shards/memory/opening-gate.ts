import type { Clock } from '../../../lib/time/clock.ts';
import { ShardUnsettled, unavailable } from '../shard/failure.ts';
import type { NodeMemory } from './node-memory.ts';

/** Shards on their way into one node's memory. */
export const OPENINGS_AT_ONCE = 8;
const OVERDRAFT_AFTER_MS = 2_000;
const REFUSE_AFTER_MS = 20_000;

/**
 * Closes idle shards if that makes `bytes` fit, or leaves them all; says whether they fit now, or
 * nothing is open at all.
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
 * Lets shards into memory, a bounded number at once, and each only when there is room for it beside
 * those that are in and those on their way: many closed shards that are asked for at the same time
 * would otherwise pass any limit before the first of them could be closed again. One that has
 * waited long may use the overdraft, so that a small shard gets in beside a large one that is never
 * idle; where that is used up, too, it is refused. They enter in order of arrival, but one that
 * fits as it is does not wait behind one for which no room can be made. Limiters of packages count
 * and do not ask for room.
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
   * Runs `open` when there is room for `bytes`. Throws UNAVAILABLE when there was none for too
   * long, ShardUnsettled once the gate is closed.
   */
  async pass<T>(bytes: number, open: () => Promise<T>): Promise<T> {
    if (this.#closed) throw stopping();
    const { promise: turn, resolve: enter, reject: refuse } = Promise.withResolvers<void>();
    // A timer of its own, because nothing else may change meanwhile.
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

  /** Something was closed, has ended or became idle. */
  changed(): void {
    this.#again = true;
    if (!this.#admitting && this.#queue.length > 0) void this.#admit();
  }

  /** Refuses all that wait, and whoever still comes. */
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
          if (this.#memory.opening >= OPENINGS_AT_ONCE) break;
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

/** Another node may have the room. */
const stopping = () => new ShardUnsettled('The service is stopping.');
