/**
 * A group of writes that is being applied to a shard. The Merkle map changes immediately, because
 * the log entry needs its root; new records go into slots that no search sees. `undo` restores the
 * map and the slots.
 */

import assert from 'node:assert/strict';
import { keyHashOf, leafHashOf, metaHashOf, vecHashOf } from '../../../lib/merkle/leaf.ts';
import type { MerkleMap } from '../../../lib/merkle/map.ts';
import { isOfShard, type ShardSpec } from '../../../lib/shard/spec.ts';
import type { EntryBody } from '../entry.ts';
import { UnreadableBytes } from '../unreadable-bytes.ts';
import type { Slots } from './slots.ts';

/**
 * The net change of one record; -1 means absent. Equal slots mean that the record was rewritten
 * with the same content.
 */
export interface Change {
  id: string;
  key: Buffer;
  oldSlot: number;
  oldLeaf: Buffer | null;
  /** Seq of the commit that wrote the old record, 0 if there is none. */
  oldSeq: number;
  newSlot: number;
  newLeaf: Buffer | null;
}

export class Staging {
  readonly #spec: ShardSpec;
  readonly #map: MerkleMap;
  readonly #slots: Slots;
  readonly seq: number;
  readonly #changes = new Map<string, Change>();

  /** `seq` is the seq of the commit being prepared. */
  constructor(spec: ShardSpec, map: MerkleMap, slots: Slots, seq: number) {
    this.#spec = spec;
    this.#map = map;
    this.#slots = slots;
    this.seq = seq;
  }

  /**
   * Net changes by id. A record created and deleted within the group appears with both slots -1.
   */
  get changes(): ReadonlyMap<string, Change> {
    return this.#changes;
  }

  /**
   * Writes a record. Returns whether it is new. Throws UnreadableBytes, changing nothing, for an
   * ill-formed id or vector.
   */
  upsert(id: string, vector: Float32Array, metadata: Uint8Array): boolean {
    assertDimensions(this.#spec, vector);
    const { key, leaf } = hashRecord(this.#spec, id, vector, metadata);
    const change = this.#changeOf(id, key);
    const existed = change.newSlot >= 0;
    const slot =
      change.oldLeaf !== null && leaf.equals(change.oldLeaf)
        ? change.oldSlot
        : this.#slots.allocate(Buffer.from(id), vector, metadata, this.seq);
    assert(slot >= 0, 'a record has a leaf but no slot');
    const { newSlot: before } = change;
    this.#discard(change);
    change.newSlot = slot;
    change.newLeaf = leaf;
    const replaced = this.#map.set(key, leaf, slot);
    assert(replaced === before, 'the map has a record elsewhere than its group');
    return !existed;
  }

  /**
   * Returns the record as the group has left it so far, as views into the slots, or null if absent.
   */
  current(id: string): { vector: Float32Array; metadata: Buffer } | null {
    const slot = this.#map.find(keyHashOf(id));
    return slot < 0 ? null : { vector: this.#slots.vector(slot), metadata: this.#slots.metadata(slot) };
  }

  /** Deletes a record. Returns false if there is none. */
  delete(id: string): boolean {
    const key = keyHashOf(id);
    if (this.#map.find(key) < 0) return false;
    const change = this.#changeOf(id, key);
    assert(change.newLeaf !== null, 'the map has a record that its group deleted');
    const removed = this.#map.delete(key);
    assert(removed === change.newSlot, 'the map has a record elsewhere than its group');
    this.#discard(change);
    change.newSlot = -1;
    change.newLeaf = null;
    return true;
  }

  undo(): void {
    for (const change of this.#changes.values()) {
      const { oldSlot, newSlot } = change;
      assert(oldSlot < 0 || this.#slots.live.has(oldSlot), 'a group replaced a record before its commit');
      assert(
        newSlot < 0 || newSlot === oldSlot || !this.#slots.live.has(newSlot),
        'a group is undone after its commit',
      );
      if (change.oldLeaf !== null) this.#map.set(change.key, change.oldLeaf, change.oldSlot);
      else if (change.newSlot >= 0) this.#map.delete(change.key);
      this.#discard(change);
    }
    this.#changes.clear();
  }

  /** Returns the net changes as a log entry. Vectors and metadata are views into the slots. */
  entry(): EntryBody {
    const entry: EntryBody = { dimensions: this.#slots.dimensions, upserts: [], deletes: [] };
    for (const { id, oldSlot, newSlot, newLeaf } of this.#changes.values()) {
      if (newLeaf !== null) {
        const [vector, metadata] = [this.#slots.vector(newSlot), this.#slots.metadata(newSlot)];
        entry.upserts.push({ id, vector, metadata, leaf: newLeaf });
      } else if (oldSlot >= 0) {
        entry.deletes.push(id);
      }
    }
    return entry;
  }

  #changeOf(id: string, key: Buffer): Change {
    let change = this.#changes.get(id);
    if (change === undefined) {
      const oldSlot = this.#map.find(key);
      const oldLeaf = oldSlot < 0 ? null : this.#map.leafAt(key);
      const oldSeq = oldSlot < 0 ? 0 : this.#slots.seq(oldSlot);
      change = { id, key, oldSlot, oldLeaf, oldSeq, newSlot: oldSlot, newLeaf: oldLeaf };
      this.#changes.set(id, change);
    }
    return change;
  }

  #discard(change: Change): void {
    if (change.newSlot >= 0 && change.newSlot !== change.oldSlot) this.#slots.free(change.newSlot);
  }
}

/**
 * Throws UnreadableBytes for stored metadata that is not a JSON object, because no client could
 * parse a response that contains it.
 */
export function assertMetadata(metadata: Uint8Array): void {
  try {
    const value: unknown = JSON.parse(
      Buffer.from(metadata.buffer, metadata.byteOffset, metadata.byteLength).toString(),
    );
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return;
  } catch {}
  throw new UnreadableBytes('Stored metadata is not a JSON object.');
}

/** Throws UnreadableBytes for a vector whose length differs from the shard's. */
export function assertDimensions({ dimensions }: ShardSpec, vector: Float32Array): void {
  if (vector.length === dimensions) return;
  throw new UnreadableBytes(`A vector has ${vector.length} values; the shard has ${dimensions} dimensions.`);
}

/**
 * Computes key and leaf of a record of this shard. Throws UnreadableBytes for an ill-formed id or
 * vector, or an id of another shard.
 */
export function hashRecord(
  { index, of }: ShardSpec,
  id: string,
  vector: Float32Array,
  metadata: Uint8Array,
): { key: Buffer; leaf: Buffer } {
  try {
    const key = keyHashOf(id);
    if (!isOfShard({ index, of }, key)) throw new RangeError('A record belongs to another shard.');
    return { key, leaf: leafHashOf(key, vecHashOf(vector), metaHashOf(metadata)) };
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new UnreadableBytes(error.message);
  }
}
