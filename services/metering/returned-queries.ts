/**
 * Queries of one account that failed after their block had closed, on their way back to the store.
 *
 * Promises: each is taken off there exactly once, whatever becomes of the answers. What goes to the
 * store together is a numbered batch; one whose outcome is unknown is repeated, under its number,
 * before anything else is written, and the store knows by its mark whether it has it already.
 * `unmark` takes the mark off again when no batch can still be under way, so that marks do not pile
 * up.
 * Fails: what is here when the process ends without `write` stays counted.
 *
 * `settle`, `write` and `unmark` are called one after another.
 */
import { StoreError } from '../../lib/store/port.ts';
import type { QueryBatch, UsageStore } from '../../lib/store/usage.ts';

/** Numbers the batches of one process. */
export interface BatchNumbers {
  /** UUID. */
  readonly counter: string;
  next(): number;
}

export class ReturnedQueries {
  readonly #usage: UsageStore;
  readonly #accountId: string;
  readonly #numbers: BatchNumbers;
  /** By month. */
  readonly #counts = new Map<string, number>();
  /** Its outcome is unknown. */
  #uncertain: (QueryBatch & { month: string }) | null = null;
  /** Month -> number of the last batch. */
  readonly #marks = new Map<string, number>();
  /** A batch that was repeated may still be under way a second time: its mark stays. */
  #isRepeated = false;

  constructor(usage: UsageStore, accountId: string, numbers: BatchNumbers) {
    this.#usage = usage;
    this.#accountId = accountId;
    this.#numbers = numbers;
  }

  add(month: string, count: number): void {
    this.#counts.set(month, this.in(month) + count);
  }

  /** How many too many the store's number has once `settle` has ended. */
  in(month: string): number {
    return this.#counts.get(month) ?? 0;
  }

  get isEmpty(): boolean {
    return this.#counts.size === 0 && this.#uncertain === null;
  }

  /** Has the store's number say whether the last batch is in it. Throws StoreError. */
  async settle(): Promise<void> {
    if (this.#uncertain === null) return;
    this.#isRepeated = true;
    await this.#send(this.#uncertain);
  }

  /** Throws StoreError; what could not be written is kept. */
  async write(): Promise<void> {
    await this.settle();
    for (const [month, count] of [...this.#counts]) {
      this.#counts.delete(month);
      await this.#send({ month, count, counter: this.#numbers.counter, number: this.#numbers.next() });
    }
  }

  /**
   * To be called when nothing will be written for long. Throws StoreError; a mark that stays does
   * no harm.
   */
  async unmark(): Promise<void> {
    const marks = [...this.#marks];
    this.#marks.clear();
    if (this.#isRepeated) return;
    for (const [month, number] of marks)
      await this.#usage.forgetBatch(this.#accountId, month, { counter: this.#numbers.counter, number });
  }

  /** Forgets everything. */
  clear(): void {
    this.#counts.clear();
    this.#marks.clear();
    this.#uncertain = null;
  }

  async #send(batch: QueryBatch & { month: string }): Promise<void> {
    const { month, count, number } = batch;
    try {
      await this.#usage.returnQueries(this.#accountId, month, batch);
    } catch (error) {
      const isUnknown = error instanceof StoreError && error.kind === 'unknown';
      // One that was of unknown outcome before stays so until it succeeds.
      if (isUnknown) this.#uncertain = batch;
      else if (this.#uncertain === null) this.add(month, count);
      throw error;
    }
    this.#uncertain = null;
    this.#marks.set(month, number);
  }
}
