import { randomUUID } from 'node:crypto';

/** How many records of a collection one run of a verification has recomputed; it only grows. */
export class ScanProgress {
  /** What the shards name the run by. */
  readonly run: string = randomUUID();
  readonly #records: number[];

  constructor(shards: number) {
    this.#records = Array(shards).fill(0);
  }

  /** A shard that is scanned again, on another node, does not take back what it had reached. */
  reached(shard: number, records: number): void {
    this.#records[shard] = Math.max(this.#records[shard], records);
  }

  get scanned(): number {
    return this.#records.reduce((sum, records) => sum + records, 0);
  }
}
