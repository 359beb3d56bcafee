import canonicalize from 'canonicalize';
import { naiveFacets } from '../../support/naive-filter.ts';
import { referenceLeaf, referenceRoot } from '../../support/reference-root.ts';
import type { Merge, ModelRecord, ModelUpdate } from './operation.ts';

/** The expected state of a collection: its namespaces by name. */
export class CollectionModel {
  readonly #namespaces = new Map<string, NamespaceModel>();

  in(namespace: string): NamespaceModel {
    const found = this.#namespaces.get(namespace) ?? new NamespaceModel();
    this.#namespaces.set(namespace, found);
    return found;
  }

  get size(): number {
    return this.held().reduce((sum, { vectorCount }) => sum + vectorCount, 0);
  }

  /** Namespaces with at least one record, in the order of UTF-8 bytes. */
  held(): { name: string; vectorCount: number }[] {
    return [...this.#namespaces]
      .map(([name, { size }]) => ({ name, vectorCount: size }))
      .filter(({ vectorCount }) => vectorCount > 0)
      .sort((a, b) => Buffer.compare(Buffer.from(a.name), Buffer.from(b.name)));
  }

  root(): string {
    return referenceRoot(
      [...this.#namespaces].flatMap(([name, { records }]) => records.map((each) => leafOf(name, each))),
    );
  }
}

function leafOf(namespace: string, { id, values, metadata }: ModelRecord) {
  return referenceLeaf(namespace === '' ? id : `\0${namespace}\0${id}`, values, metadata);
}

/** A map of records with exact brute-force queries. */
export class NamespaceModel {
  #records = new Map<string, ModelRecord>();

  get size(): number {
    return this.#records.size;
  }

  get records(): ModelRecord[] {
    return [...this.#records.values()];
  }

  upsert(records: ModelRecord[]): void {
    for (const record of records) this.#records.set(record.id, record);
  }

  /** Returns the number of records that existed. */
  delete(ids: string[]): number {
    let count = 0;
    for (const id of new Set(ids)) if (this.#records.delete(id)) count++;
    return count;
  }

  /** Returns how many records existed, and how many changed. */
  update(updates: ModelUpdate[]): { matchedCount: number; updatedCount: number } {
    let [matchedCount, updatedCount] = [0, 0];
    for (const { id, values, ...merge } of updates) {
      const before = this.#records.get(id);
      if (before === undefined) continue;
      matchedCount++;
      const after = { id, values: values ?? before.values, metadata: merged(before.metadata, merge) };
      if (canonicalize(after) !== canonicalize(before)) updatedCount++;
      this.#records.set(id, after);
    }
    return { matchedCount, updatedCount };
  }

  /** Ids of the records of a group; null for all records. */
  idsOf(group: number | null): string[] {
    return this.#in(group).map(({ id }) => id);
  }

  facets(field: string, group: number | null): { counts: Map<unknown, number>; missing: number } {
    return naiveFacets(
      field,
      this.#in(group).map(({ metadata }) => metadata),
    );
  }

  /** Records of a group with such ids, after the given id, in the order of UTF-8 bytes. */
  list({ prefix, group, after }: { prefix: string | null; group: number | null; after: string | null }): ModelRecord[] {
    const byBytes = (a: string, b: string) => Buffer.compare(Buffer.from(a), Buffer.from(b));
    return this.#in(group)
      .filter(({ id }) => id.startsWith(prefix ?? '') && (after === null || byBytes(id, after) > 0))
      .sort((a, b) => byBytes(a.id, b.id));
  }

  fetch(ids: string[]): Map<string, ModelRecord> {
    return new Map(ids.flatMap((id) => (this.#records.has(id) ? [[id, this.#records.get(id)!]] : [])));
  }

  /** Cosine similarities, best first; ties by id. */
  query(vector: number[], topK: number, group: number | null): { id: string; score: number }[] {
    const scored = this.#in(group).map(({ id, values }) => ({ id, score: cosine(vector, values) }));
    return scored.sort((a, b) => b.score - a.score).slice(0, topK);
  }

  #in(group: number | null): ModelRecord[] {
    return [...this.#records.values()].filter(({ metadata }) => group === null || metadata.group === group);
  }
}

function merged(metadata: ModelRecord['metadata'], { setMetadata = {}, unsetMetadata = [] }: Merge) {
  const kept = Object.entries(metadata).filter(([key]) => !unsetMetadata.includes(key));
  return { ...Object.fromEntries(kept), ...setMetadata };
}

function cosine(a: number[], b: number[]): number {
  const dot = (x: number[], y: number[]) => x.reduce((total, value, at) => total + value * y[at]!, 0);
  return dot(a, b) / Math.sqrt(dot(a, a) * dot(b, b));
}
