import pLimit from 'p-limit';
import type { CollectionId } from '../../../lib/ids.ts';
import { backoffMs } from '../../../lib/time/backoff.ts';
import type { AnchoringContext } from '../context.ts';
import type { Outbox } from './outbox.ts';

/** Maximum number of collections with ledger calls at the same time. */
const TURNS_AT_ONCE = 32;
const PAUSE = { minMs: 250, maxMs: 10_000 };

interface Entry {
  outbox: Outbox;
  state: 'idle' | 'queued' | 'running' | 'sleeping';
  /** True if the outbox was woken during its turn. */
  again: boolean;
  failures: number;
  /** True if its pause was cut short since its last success. */
  wasHurried: boolean;
  timer: NodeJS.Timeout | undefined;
}

/**
 * Runs the turns of outboxes, first come, first served, a limited number at once, one at a time per
 * collection. An outbox that waits for the ledger occupies no slot. After an error its turn is
 * retried without end, after growing pauses or as soon as another outbox succeeds.
 */
export class Schedule {
  readonly #entries = new Map<string, Entry>();
  readonly #limit = pLimit(TURNS_AT_ONCE);
  readonly #turns = new Set<Promise<void>>();
  readonly #context: Pick<AnchoringContext, 'log' | 'counts'>;
  readonly #onDone: (collectionId: CollectionId) => void;
  #failing = false;
  #stopped = false;

  /** `onDone` is called when nothing is left to do for the collection. */
  constructor(context: Pick<AnchoringContext, 'log' | 'counts'>, onDone: (collectionId: CollectionId) => void) {
    this.#context = context;
    this.#onDone = onDone;
  }

  /** Queues a turn for an outbox that has work. */
  wake(outbox: Outbox): void {
    let entry = this.#entries.get(outbox.collectionId);
    if (!entry) {
      entry = { outbox, state: 'idle', again: false, failures: 0, wasHurried: false, timer: undefined };
      this.#entries.set(outbox.collectionId, entry);
    }
    if (entry.state === 'running') entry.again = true;
    if (entry.state === 'idle') this.#enqueue(entry);
  }

  /** Starts no more turns and waits for running ones. */
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
      // Logs the first, second, fourth, eighth, ... failure, so that a ledger outage of a day does
      // not fill the log.
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
   * The first success after a failure retries all paused outboxes at once, but each only once: one
   * that fails again has a cause of its own.
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
