import { referenceLeaf, referenceRoot } from './reference-root.ts';

export interface SentRecord {
  id: string;
  values: number[];
  metadata?: Record<string, unknown>;
}

/** What a collection must hold after the writes it was told of, and the root that this has. */
export class Content {
  readonly #records = new Map<string, SentRecord>();

  upsert(records: readonly SentRecord[]): void {
    for (const record of records) this.#records.set(record.id, record);
  }

  /** How many of the ids were there. */
  delete(ids: readonly string[]): number {
    return ids.filter((id) => this.#records.delete(id)).length;
  }

  get size(): number {
    return this.#records.size;
  }

  /** PV1, in hex. */
  get root(): string {
    const records = [...this.#records.values()];
    return referenceRoot(records.map(({ id, values, metadata }) => referenceLeaf(id, values, metadata ?? {})));
  }
}
