import { itemAt } from '../../../lib/checked-access.ts';
import { keyHashOf, leafHashOf, metaHashOf, vecHashOf } from '../../../lib/merkle/leaf.ts';
import { MerkleMap } from '../../../lib/merkle/map.ts';
import type { ShardHead } from '../../../lib/shard/head.ts';
import type { RecordDifference } from '../../../lib/shard/recomputed.ts';
import { isOfShard, type ShardSpec } from '../../../lib/shard/spec.ts';
import type { RecordScan, StoredRecord } from '../../../store/records.ts';
import type { ReplayedEntry, ShardSnapshot } from '../engine/port.ts';
import { changesIn } from '../entry.ts';
import type { Steps } from '../steps.ts';

/** Hashes of a record's stored bytes, kept only for records whose leaf does not match them. */
interface RecordHashes {
  vecHash: Buffer;
  metaHash: Buffer;
}

/**
 * Rebuilds a shard's Merkle map from stored bytes alone. Every leaf is hashed again, and no stored
 * leaf is trusted.
 */
export class RecomputeSession {
  readonly #spec: ShardSpec;
  #map: MerkleMap;
  #seq = 0;
  /** Ids by slot of the map; undefined if the record was deleted or replaced since. */
  #ids: (string | undefined)[] = [];
  #contradicting = new Map<number, RecordHashes>();
  #unreadableIds = new Set<string>();
  /** Ids of rows that no write replaces, so no log entry can repair them. */
  readonly #strayIds = new Set<string>();
  #unreadableEntries = 0;
  /** Last leaf the log wrote for each record it covers, or null if deleted. */
  readonly #logged = new Map<string, Uint8Array | null>();
  /** Whether the log covers all records. */
  #isAllLogged = false;

  constructor(spec: ShardSpec) {
    this.#spec = spec;
    this.#map = new MerkleMap({ skipBits: Math.log2(spec.of) });
  }

  /** This and `addEntries` return the number of records so far. */
  *addRecords(records: StoredRecord[]): Steps<number> {
    for (const record of records) {
      this.#put(record);
      yield 'building';
    }
    return this.#map.size;
  }

  /** Adds rows that exist but that the scan skipped. */
  addSkipped({ unreadable, stray }: Pick<RecordScan, 'unreadable' | 'stray'>): void {
    for (const id of unreadable) this.#unreadableIds.add(id);
    for (const id of stray) this.#strayIds.add(id);
  }

  *addEntries(entries: ReplayedEntry[]): Steps<number> {
    for (const entry of entries) {
      const changes = changesIn(entry);
      if (changes === null) this.#unreadableEntries++;
      for (const { id, record } of changes ?? []) {
        this.#unreadableIds.delete(id);
        if (record) this.#put(record);
        else this.#forget(this.#map.delete(keyHashOf(id)));
        yield 'building';
      }
    }
    return this.#map.size;
  }

  /** Adds what the log says was written, whatever the records contain now. */
  *addWitness(entries: ReplayedEntry[]): Steps<undefined> {
    this.#isAllLogged ||= entries[0]?.seq === 1;
    for (const entry of entries) {
      for (const { id, record } of changesIn(entry) ?? []) {
        this.#logged.set(id, record && Uint8Array.from(record.leaf));
        yield 'building';
      }
    }
  }

  /** Returns the ids of an entry's records whose bytes do not match their leaf. */
  alteredIn(entry: ReplayedEntry, limit: number): string[] {
    const altered: string[] = [];
    for (const { id, record } of changesIn(entry) ?? []) {
      if (altered.length >= limit) break;
      const vecHash = record && finiteVecHashOf(record.vector);
      if (!record) continue;
      if (!vecHash || !leafHashOf(keyHashOf(id), vecHash, metaHashOf(record.metadata)).equals(record.leaf))
        altered.push(id);
    }
    return altered;
  }

  /**
   * Number of records whose bytes do not match their stored leaf, and of bytes that cannot be
   * decoded. It can be above 0 even though the root matches the recorded one: a shard opened from
   * altered bytes records roots that include them.
   */
  get contradicting(): number {
    const leftOut = this.#unreadableIds.size + this.#strayIds.size;
    return this.#contradicting.size + leftOut + this.#unreadableEntries;
  }

  /**
   * Returns the head of the recomputed state, which the caller knows to be at `seq` and `version`.
   */
  head(seq: number, version: number): ShardHead {
    this.#seq = seq;
    return { seq, version, count: this.#map.size, ...this.#map.root() };
  }

  /**
   * Returns differences from the open `shard`, from the leaves stored with the records, and from
   * what the log wrote. The shard may be slightly ahead: records it wrote after the recomputed seq
   * are ignored.
   */
  compare(shard: ShardSnapshot | null, limit: number): RecordDifference[] {
    const differences = new Map<string, string>();
    for (const [id, what] of this.#differing(shard)) {
      if (differences.size >= limit) break;
      if (!differences.has(id)) differences.set(id, what);
    }
    return [...differences].map(([id, what]) => ({ id, what }));
  }

  *#differing(shard: ShardSnapshot | null): Iterable<[id: string, what: string]> {
    for (const id of [...this.#strayIds, ...this.#unreadableIds]) yield [id, WHAT.unreadable];
    for (const [slot, parts] of this.#contradicting) {
      const id = itemAt(this.#ids, slot);
      yield [id, shard ? whatDiffers(shard.partsOf(id), parts) : WHAT.either];
    }
    if (shard) yield* this.#differingFrom(shard);
    yield* this.#differingFromLog();
  }

  *#differingFrom(shard: ShardSnapshot): Iterable<[id: string, what: string]> {
    const same = shard.head.seq === this.#seq;
    for (const { leaf, slot } of this.#map.entries()) {
      const id = itemAt(this.#ids, slot);
      const held = shard.leafOf(id);
      if (held === null) {
        if (same) yield [id, WHAT.unexpected];
      } else if (held.seq <= this.#seq && !leaf.equals(held.leaf)) yield [id, WHAT.either];
    }
    for (const { id, seq } of shard.ids())
      if (seq <= this.#seq && this.#map.find(keyHashOf(id)) < 0) yield [id, WHAT.missing];
  }

  *#differingFromLog(): Iterable<[id: string, what: string]> {
    for (const [id, logged] of this.#logged) {
      const leaf = this.#map.leafAt(keyHashOf(id));
      if (leaf === null && logged !== null) yield [id, WHAT.missing];
      else if (leaf !== null && logged === null) yield [id, WHAT.unexpected];
      else if (leaf !== null && logged !== null && !leaf.equals(logged)) yield [id, WHAT.either];
    }
    if (!this.#isAllLogged) return;
    for (const { slot } of this.#map.entries()) {
      const id = itemAt(this.#ids, slot);
      if (!this.#logged.has(id)) yield [id, WHAT.unexpected];
    }
  }

  #put(record: StoredRecord): void {
    const key = keyHashOf(record.id);
    const vecHash = isOfShard(this.#spec, key) ? finiteVecHashOf(record.vector) : null;
    if (vecHash === null) {
      this.#unreadableIds.add(record.id);
      return;
    }
    const metaHash = metaHashOf(record.metadata);
    const leaf = leafHashOf(key, vecHash, metaHash);
    const slot = this.#ids.push(record.id) - 1;
    this.#forget(this.#map.set(key, leaf, slot));
    if (!leaf.equals(record.leaf)) this.#contradicting.set(slot, { vecHash, metaHash });
  }

  #forget(slot: number): void {
    if (slot < 0) return;
    this.#ids[slot] = undefined;
    this.#contradicting.delete(slot);
  }
}

const WHAT = {
  either: 'values or metadata',
  missing: 'missing',
  unexpected: 'unexpected',
  unreadable: 'unreadable',
} as const;

/** Returns null for values that no record can have. */
function finiteVecHashOf(vector: Float32Array): Buffer | null {
  try {
    return vecHashOf(vector);
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
}

/**
 * Describes how the stored record differs. A record that the shard skipped when it opened was
 * damaged after it was written.
 */
function whatDiffers(held: RecordHashes | null, stored: RecordHashes): string {
  if (!held) return WHAT.unreadable;
  const values = !held.vecHash.equals(stored.vecHash);
  const metadata = !held.metaHash.equals(stored.metaHash);
  if (values && metadata) return 'values and metadata';
  if (values) return 'values';
  return metadata ? 'metadata' : WHAT.either;
}
