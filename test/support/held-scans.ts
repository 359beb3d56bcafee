import type { RecordScan, StoredRecord } from '../../store/records.ts';
import type { TestService } from './service.ts';

/** Records per batch; small, so that a small shard has several batches. */
const BATCH = 10;

/** Scans of a running service's records. Each one awaits `pass` after its first batch. */
export class HeldScans {
  scans = 0;
  batches = 0;
  #pass: () => Promise<void> = async () => undefined;
  #release = (): void => undefined;

  constructor({ provec }: Pick<TestService, 'provec'>) {
    const { records } = provec.store;
    const scan = records.scan.bind(records);
    records.scan = async (key): Promise<RecordScan> => {
      this.scans++;
      const found = await scan(key);
      const batches = this.#inParts(found.batches);
      const { throughSeq, unreadable, stray } = found;
      return { throughSeq, batches, unreadable, stray, reachedSeq: throughSeq };
    };
  }

  /** Makes scans wait until `release`. */
  hold(): void {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#pass = () => promise;
    this.#release = resolve;
  }

  /** Makes scans fail with the error until `release`. */
  fail(error: Error): void {
    this.#pass = () => Promise.reject(error);
  }

  release(): void {
    this.#release();
    this.#pass = async () => undefined;
  }

  async *#inParts(batches: AsyncIterable<StoredRecord[]>): AsyncGenerator<StoredRecord[], void, undefined> {
    for await (const batch of batches) {
      for (let at = 0; at < batch.length; at += BATCH) {
        if (at > 0) await this.#pass();
        this.batches++;
        yield batch.slice(at, at + BATCH);
      }
    }
  }
}
