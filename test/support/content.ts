import { referenceLeaf, referenceRoot } from './reference-root.ts';

export interface SentRecord {
  id: string;
  values: number[];
  metadata?: Record<string, unknown>;
}

/** The expected content of a collection after the writes given to it, and its root. */
export class Content {
  readonly #records = new Map<string, SentRecord>();

  upsert(records: readonly SentRecord[]): void {
    for (const record of records) this.#records.set(record.id, record);
  }

  /** Returns how many of the ids were present. */
  delete(ids: readonly string[]): number {
    return ids.filter((id) => this.#records.delete(id)).length;
  }

  get size(): number {
    return this.#records.size;
  }

  /** The PV1 root in hex. */
  get root(): string {
    const records = [...this.#records.values()];
    return referenceRoot(records.map(({ id, values, metadata }) => referenceLeaf(id, values, metadata ?? {})));
  }
}
