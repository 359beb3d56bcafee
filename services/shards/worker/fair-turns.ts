import type { HeldShard } from './held-shard.ts';

/** What a turn is for: one slice of it, without waiting. */
export interface TurnWork {
  query(held: HeldShard): void;
  maintain(held: HeldShard): void;
}

/**
 * Whose turn it is on the thread. The shards that are queried have their round and those with background work have theirs, a
 * turn of the one after a turn of the other; after each it is the turn of the requests that came meanwhile.
 */
export class RoundRobin {
  readonly #later: (run: () => void) => void;
  readonly #work: TurnWork;
  readonly #queried = new Set<HeldShard>();
  readonly #maintained = new Set<HeldShard>();
  #comes = false;
  #wasQuerys = false;

  /** `later` runs what it is given once the requests that came meanwhile are answered. */
  constructor(later: (run: () => void) => void, work: TurnWork) {
    this.#later = later;
    this.#work = work;
  }

  /** Whether background work waits for its turn. */
  get isMaintaining(): boolean {
    return this.#maintained.size > 0;
  }

  /** Gives the shard a turn for one of its queries. */
  query(held: HeldShard): void {
    this.#queried.add(held);
    this.#come();
  }

  /** Gives the shard a turn for its background work. */
  maintain(held: HeldShard): void {
    this.#maintained.add(held);
    this.#come();
  }

  /** Takes the shard's turns away. */
  leave(held: HeldShard): void {
    this.#queried.delete(held);
    this.#maintained.delete(held);
  }

  #come(): void {
    if (this.#comes) return;
    this.#comes = true;
    this.#later(() => {
      this.#comes = false;
      this.#take();
      if (this.#queried.size > 0 || this.#maintained.size > 0) this.#come();
    });
  }

  #take(): void {
    const [queried] = this.#queried;
    const [maintained] = this.#maintained;
    this.#wasQuerys = queried !== undefined && (maintained === undefined || !this.#wasQuerys);
    if (this.#wasQuerys) {
      this.#queried.delete(queried);
      this.#work.query(queried);
    } else if (maintained !== undefined) {
      this.#maintained.delete(maintained);
      this.#work.maintain(maintained);
    }
  }
}
