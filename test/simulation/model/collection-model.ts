import { referenceLeaf, referenceRoot } from '../../support/reference-root.ts';
import type { ModelRecord } from './operation.ts';

/** A collection as it should be: a map of records, and exact answers by brute force. */
export class CollectionModel {
  #records = new Map<string, ModelRecord>();

  get size(): number {
    return this.#records.size;
  }

  upsert(records: ModelRecord[]): void {
    for (const record of records) this.#records.set(record.id, record);
  }

  /** The number of records that existed. */
  delete(ids: string[]): number {
    let count = 0;
    for (const id of new Set(ids)) if (this.#records.delete(id)) count++;
    return count;
  }

  fetch(ids: string[]): Map<string, ModelRecord> {
    return new Map(ids.flatMap((id) => (this.#records.has(id) ? [[id, this.#records.get(id)!]] : [])));
  }

  /** Cosine similarities, best first, ties by id. */
  query(vector: number[], topK: number, group: number | null): { id: string; score: number }[] {
    const candidates = [...this.#records.values()].filter(({ metadata }) => group === null || metadata.group === group);
    const scored = candidates.map(({ id, values }) => ({ id, score: cosine(vector, values) }));
    return scored.sort((a, b) => b.score - a.score).slice(0, topK);
  }

  root(): string {
    return referenceRoot(
      [...this.#records.values()].map(({ id, values, metadata }) => referenceLeaf(id, values, metadata)),
    );
  }
}

function cosine(a: number[], b: number[]): number {
  const dot = (x: number[], y: number[]) => x.reduce((total, value, at) => total + value * y[at]!, 0);
  return dot(a, b) / Math.sqrt(dot(a, a) * dot(b, b));
}
