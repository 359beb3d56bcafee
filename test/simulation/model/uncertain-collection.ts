import type { SentRecord } from '../../support/content.ts';
import { referenceLeaf, referenceRoot } from '../../support/reference-root.ts';

export type ModelRecord = Required<SentRecord>;
type Leaf = ReturnType<typeof referenceLeaf>;

/** A request in progress: the target state of each of its ids, null for deleted. */
export type OpenWrite = ReadonlyMap<string, ModelRecord | null>;

/**
 * A collection with writes that were never answered. In each shard, such a write was applied either
 * completely or not at all; `settle` decides which from the records that exist. Writes that are
 * open at the same time must not share an id.
 */
export class UncertainCollection {
  readonly #shardBits: number;
  readonly #records = new Map<string, { record: ModelRecord; leaf: Leaf }>();
  readonly #open = new Set<OpenWrite>();

  constructor(shards: number) {
    this.#shardBits = Math.log2(shards);
  }

  get size(): number {
    return this.#records.size;
  }

  /** The PV1 root in hex. */
  get root(): string {
    return referenceRoot([...this.#records.values()].map(({ leaf }) => leaf));
  }

  get records(): ModelRecord[] {
    return [...this.#records.values()].map(({ record }) => record);
  }

  /** Ids that may have their previous state or that of an open write. */
  get doubtful(): string[] {
    return [...this.#open].flatMap((write) => [...write.keys()]);
  }

  get(id: string): ModelRecord | null {
    return this.#records.get(id)?.record ?? null;
  }

  begin(write: OpenWrite): void {
    const doubtful = new Set(this.doubtful);
    for (const id of write.keys()) if (doubtful.has(id)) throw new Error(`${id} is written already`);
    this.#open.add(write);
  }

  acknowledge(write: OpenWrite): void {
    if (!this.#open.delete(write)) throw new Error('the write was never begun');
    for (const [id, record] of write) this.#set(id, record);
  }

  /**
   * Decides every open write from the records `found` for the doubtful ids. Returns how many parts
   * of writes were applied and how many were not. Throws when a part was applied incompletely, or
   * when a record exists that no request wrote.
   */
  settle(found: ReadonlyMap<string, ModelRecord>): { there: number; lost: number } {
    const counts = { there: 0, lost: 0 };
    for (const write of this.#open) {
      for (const part of this.#partsOf(write)) {
        const isThere = this.#outcome(part, found);
        counts[isThere ? 'there' : 'lost']++;
        if (isThere) for (const [id, record] of part) this.#set(id, record);
      }
    }
    this.#open.clear();
    return counts;
  }

  /** Cosine similarities of the records in `group` (null for all), best first. */
  query(vector: number[], topK: number, group: number | null): { id: string; score: number }[] {
    const scored: { id: string; score: number }[] = [];
    for (const { record } of this.#records.values()) {
      if (group === null || record.metadata.group === group) {
        scored.push({ id: record.id, score: cosine(vector, record.values) });
      }
    }
    return scored.sort((a, b) => b.score - a.score).slice(0, topK);
  }

  #outcome(part: [string, ModelRecord | null][], found: ReadonlyMap<string, ModelRecord>): boolean {
    let wasThere = 0;
    let wasLost = 0;
    for (const [id, wanted] of part) {
      const is = found.get(id) ?? null;
      const before = this.get(id);
      const isWanted = isAlike(is, wanted);
      const isBefore = isAlike(is, before);
      if (!isWanted && !isBefore)
        throw new Error(`${id} is ${shown(is)}, neither ${shown(wanted)} nor ${shown(before)}`);
      if (!isBefore) wasThere++;
      if (!isWanted) wasLost++;
    }
    if (wasThere > 0 && wasLost > 0) throw new Error(`a shard has ${wasThere} changes of a write but lacks ${wasLost}`);
    return wasThere > 0;
  }

  #partsOf(write: OpenWrite): [string, ModelRecord | null][][] {
    const entries = [...write].map(([id, record]) => ({
      entry: [id, record] as [string, ModelRecord | null],
      shard: this.#shardOf(id),
    }));
    return [...Map.groupBy(entries, ({ shard }) => shard).values()].map((part) => part.map(({ entry }) => entry));
  }

  #shardOf(id: string): number {
    return referenceLeaf(id, [], {}).key[0]! >> (8 - this.#shardBits);
  }

  #set(id: string, record: ModelRecord | null): void {
    if (record === null) this.#records.delete(id);
    else this.#records.set(id, { record, leaf: referenceLeaf(id, record.values, record.metadata) });
  }
}

function isAlike(a: ModelRecord | null, b: ModelRecord | null): boolean {
  if (a === null || b === null) return a === b;
  const [leafA, leafB] = [a, b].map(({ id, values, metadata }) => referenceLeaf(id, values, metadata));
  return leafA!.key.equals(leafB!.key) && leafA!.leaf.equals(leafB!.leaf);
}

function shown(record: ModelRecord | null): string {
  return JSON.stringify(record)?.slice(0, 200);
}

function cosine(a: number[], b: number[]): number {
  const dot = (x: number[], y: number[]) => x.reduce((total, value, at) => total + value * y[at]!, 0);
  return dot(a, b) / Math.sqrt(dot(a, a) * dot(b, b));
}
