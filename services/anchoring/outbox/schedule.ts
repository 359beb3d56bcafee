import pLimit from 'p-limit';
import { backoffMs } from '../../../lib/time/backoff.ts';
import type { AnchoringContext } from '../context.ts';
import type { Outbox } from './outbox.ts';

/** Collections whose ledger calls are made at the same time. */
const TURNS_AT_ONCE = 32;
const PAUSE = { minMs: 250, maxMs: 10_000 };

interface Entry {
  outbox: Outbox;
  state: 'idle' | 'queued' | 'running' | 'sleeping';
  /** Something new came while it ran. */
  again: boolean;
  failures: number;
  /** Its pause was cut short since it last succeeded. */
  wasHurried: boolean;
  timer: NodeJS.Timeout | undefined;
}

/**
 * Gives outboxes their turns: first come, first served, a bounded number at once, each collection
 * one at a time. An outbox that waits for the ledger holds no place. One whose turn threw comes
 * again after a growing pause, for ever, or as soon as another's succeeds.
 */
export class Schedule {
  readonly #entries = new Map<string, Entry>();
  readonly #limit = pLimit(TURNS_AT_ONCE);
  readonly #turns = new Set<Promise<void>>();
  readonly #context: Pick<AnchoringContext, 'log' | 'counts'>;
  readonly #onDone: (collectionId: string) => void;
  #failing = false;
  #stopped = false;

  /** `onDone`: nothing is left to do for the collection, ever. */
  constructor(context: Pick<AnchoringContext, 'log' | 'counts'>, onDone: (collectionId: string) => void) {
    this.#context = context;
    this.#onDone = onDone;
  }

  /** The outbox has something to do. */
  wake(outbox: Outbox): void {
    let entry = this.#entries.get(outbox.collectionId);
    if (!entry) {
      entry = { outbox, state: 'idle', again: false, failures: 0, wasHurried: false, timer: undefined };
      this.#entries.set(outbox.collectionId, entry);
    }
    if (entry.state === 'running') entry.again = true;
    if (entry.state === 'idle') this.#enqueue(entry);
  }

  /** Starts no more turns and waits for those that run. */
  async stop(): Promise<void> {
    this.#stopped = true;
    for (const { timer } of this.#entries.values()) clearTimeout(timer);
    await Promise.all(this.#turns);
  }

  #enqueue(entry: Entry): void {
    entry.state = 'queued';
    const turn = this.#limit(() => this.#run(entry)).finally(() => this.#turns.delete(turn));
    this.#turns.add(turn);
  }

  async #run(entry: Entry): Promise<void> {
    if (this.#stopped) return;
    entry.state = 'running';
    entry.again = false;
    try {
      const turn = await entry.outbox.turn();
      entry.failures = 0;
      entry.wasHurried = false;
      this.#recovered();
      if (turn.next === 'turn') this.#sleep(entry, turn.afterMs);
      else if (entry.again) this.#enqueue(entry);
      else if (turn.next === 'done') this.#forget(entry);
      else entry.state = 'idle';
    } catch (error) {
      if (this.#stopped) return;
      this.#failing = true;
      this.#context.counts.failures += 1;
      const pauseMs = backoffMs(entry.failures, PAUSE);
      // The first, second, fourth ... failure: a ledger that is down for a day must not fill the
      // log.
      if ((entry.failures & (entry.failures + 1)) === 0) {
        const { collectionId } = entry.outbox;
        this.#context.log.warn(
          { err: error, collectionId, failures: entry.failures + 1 },
          'anchoring failed; trying again',
        );
      }
      entry.failures += 1;
      this.#sleep(entry, pauseMs);
    }
  }

  #sleep(entry: Entry, afterMs: number): void {
    if (this.#stopped) return;
    if (afterMs === 0) {
      this.#enqueue(entry);
      return;
    }
    entry.state = 'sleeping';
    entry.timer = setTimeout(() => this.#enqueue(entry), afterMs);
  }

  #forget({ outbox }: Entry): void {
    this.#entries.delete(outbox.collectionId);
    this.#onDone(outbox.collectionId);
  }

  /**
   * After a failure of the ledger all those that pause come back with the first success, once: what
   * fails again has a reason of its own.
   */
  #recovered(): void {
    if (!this.#failing) return;
    this.#failing = false;
    for (const entry of this.#entries.values()) {
      if (entry.state !== 'sleeping' || entry.failures === 0 || entry.wasHurried) continue;
      entry.wasHurried = true;
      clearTimeout(entry.timer);
      this.#enqueue(entry);
    }
  }
}
