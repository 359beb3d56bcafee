import { randomUUID } from 'node:crypto';

/** Number of records that one verification run has recomputed; it never decreases. */
export class ScanProgress {
  /** Id of the run in the shards' events. */
  readonly run: string = randomUUID();
  readonly #records: number[];

  constructor(shards: number) {
    this.#records = Array(shards).fill(0);
  }

  /** Records progress; scanning a shard again on another node does not reset it. */
  reached(shard: number, records: number): void {
    this.#records[shard] = Math.max(this.#records[shard] ?? 0, records);
  }

  get scanned(): number {
    return this.#records.reduce((sum, records) => sum + records, 0);
  }
}
