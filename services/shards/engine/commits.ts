/**
 * The commits of a shard: its head, its Merkle map, which is also the index by id, and the group
 * being staged.
 *
 * While a group is staged, the map is ahead of the committed state, because the log entry needs its
 * root. Reads by id therefore name the state that they read, and skip what was staged or committed
 * after it.
 */
import { keyHashOf, metaHashOf, vecHashOf } from '../../../lib/merkle/leaf.ts';
import { type MapEntry, MerkleMap } from '../../../lib/merkle/map.ts';
import type { Path } from '../../../lib/merkle/proof.ts';
import { EMPTY_HEAD, isSameState, type ShardHead } from '../../../lib/shard/head.ts';
import { isOfShard, type ShardSpec } from '../../../lib/shard/spec.ts';
import { versionAfter } from '../../../store/log.ts';
import type { StoredRecord } from '../../../store/records.ts';
import { decodeEntryBody, encodeEntryBody } from '../entry.ts';
import type { Steps } from '../steps.ts';
import { UnreadableBytes } from '../unreadable-bytes.ts';
import { applyWrite, type FindMatching } from './apply-write.ts';
import { changesSince, type HeldState, History } from './history.ts';
import type { ReplayedEntry, ShardWrite, Staged, WriteOutcome } from './port.ts';
import type { ShardView } from './shard-view.ts';
import type { Slots } from './slots.ts';
import { assertDimensions, assertMetadata, type Change, hashRecord, Staging } from './staging.ts';

type Changes = ReadonlyMap<string, Change>;

export class Commits {
  readonly #spec: ShardSpec;
  readonly #slots: Slots;
  readonly #view: ShardView;
  readonly #map: MerkleMap;
  readonly history: History;
  #head: ShardHead = EMPTY_HEAD;
  /** The group being staged. `head` is the state after it, null until staging is complete. */
  #group: { staging: Staging; head: ShardHead | null } | null = null;

  /** `view` follows each commit. */
  constructor(spec: ShardSpec, slots: Slots, view: ShardView) {
    this.#spec = spec;
    this.#slots = slots;
    this.#view = view;
    this.#map = new MerkleMap({ skipBits: Math.log2(spec.of) });
    this.history = new History(slots);
  }

  /** Head of the committed state. */
  get head(): ShardHead {
    return this.#head;
  }

  get isStaged(): boolean {
    return this.#group !== null;
  }

  get bytes(): number {
    return this.#map.bytes + this.history.bytes;
  }

  /** See `ShardWriter.stage`. One step per record. `find` finds what a write by filter matches. */
  *stage(writes: Iterable<ShardWrite>, find: FindMatching): Steps<Staged> {
    this.#assertNothingStaged();
    const staging = new Staging(this.#spec, this.#map, this.#slots, this.#head.seq + 1);
    this.#group = { staging, head: null };
    let isStaged = false;
    try {
      const outcomes: WriteOutcome[] = [];
      for (const write of writes) outcomes.push(yield* applyWrite(staging, write, find));
      if (staging.changes.size === 0) return { outcomes, commit: null };
      const head = this.#headAt(this.#head.seq + 1, this.#head.version + 1);
      yield 'staging';
      const body = encodeEntryBody(staging.entry());
      this.#group = { staging, head };
      isStaged = true;
      return { outcomes, commit: { head, body } };
    } finally {
      // Nothing is staged after an error, for a group that changes nothing, or if the caller ends
      // the steps early.
      if (!isStaged) {
        staging.undo();
        this.#group = null;
      }
    }
  }

  commit(): void {
    const { staging, head = null } = this.#group ?? {};
    if (staging === undefined || head === null) throw new Error('Nothing is staged.');
    this.#group = null;
    this.#show(staging, head);
  }

  abort(): void {
    if (this.#group?.head === null) throw new Error('A group is being staged.');
    this.#group?.staging.undo();
    this.#group = null;
  }

  /** See `ShardWriter.replay`. */
  replay(entry: ReplayedEntry): boolean {
    this.#assertNothingStaged();
    if (entry.seq !== this.#head.seq + 1) throw new Error(`Entry ${entry.seq} does not follow ${this.#head.seq}.`);
    const staging = new Staging(this.#spec, this.#map, this.#slots, entry.seq);
    let readable = entry.kind !== 'damaged';
    try {
      const { upserts, deletes } = decodeEntryBody(entry.body);
      for (const { id, vector, metadata } of upserts) {
        assertMetadata(metadata);
        staging.upsert(id, vector, metadata);
      }
      for (const id of deletes) staging.delete(id);
    } catch (error) {
      staging.undo();
      if (!(error instanceof UnreadableBytes)) throw error;
      readable = false;
    }
    const version = versionAfter(this.#head.version, entry);
    this.#show(staging, this.#headAt(entry.seq, entry.kind === 'damaged' ? version : entry.head.version));
    return readable && isSameState(this.#head, entry.head) && this.#head.version === version;
  }

  /**
   * Adds a stored record to a new shard, and returns its slot. Throws UnreadableBytes if it cannot
   * be a record of this shard. `endRestore` must follow the last record.
   */
  restore({ id, vector, metadata, seq }: Omit<StoredRecord, 'leaf'>): number {
    this.#assertNew();
    assertDimensions(this.#spec, vector);
    assertMetadata(metadata);
    const { key, leaf } = hashRecord(this.#spec, id, vector, metadata);
    if (this.#map.find(key) >= 0) throw new UnreadableBytes('A record to be restored occurs twice.');
    const slot = this.#slots.allocate(Buffer.from(id), vector, metadata, seq);
    this.#map.set(key, leaf, slot);
    this.#slots.makeLive(slot);
    this.#view.changed(-1, slot);
    return slot;
  }

  /** Makes the restored records the state at `seq`, the result of `version` writes. */
  *endRestore(seq: number, version: number): Steps<void> {
    for (const _ of this.#map.hashParts()) {
      this.#assertNew();
      yield 'sending';
    }
    this.#head = this.#headAt(seq, version);
  }

  /** Updates the map after a record moved to another slot. */
  moved(slot: number): void {
    const key = keyHashOf(this.#slots.id(slot));
    const leaf = this.#map.leafAt(key);
    if (leaf === null) throw new Error('A live record has no leaf.');
    this.#map.set(key, leaf, slot);
  }

  /** Returns the record's slot in `state`, or -1. */
  slotOf(id: string, state: HeldState): number {
    return this.#changeSince(state, id)?.oldSlot ?? this.#map.find(keyHashOf(id));
  }

  /** Returns the record's leaf in `state`, and the seq of the commit that wrote it. */
  leafOf(id: string, state: HeldState): { leaf: Buffer; seq: number } | null {
    const change = this.#changeSince(state, id);
    if (change) return change.oldLeaf && { leaf: change.oldLeaf, seq: change.oldSeq };
    const key = keyHashOf(id);
    const leaf = this.#map.leafAt(key);
    return leaf && { leaf, seq: this.#slots.seq(this.#map.find(key)) };
  }

  /** Returns the seq of the commit that wrote a record which `state` has in `slot`. */
  seqOf(slot: number, state: HeldState): number {
    if (state.next === null) return this.#slots.seq(slot);
    return this.#changeSince(state, this.#slots.id(slot))?.oldSeq ?? this.#slots.seq(slot);
  }

  partsAt(slot: number): { vecHash: Buffer; metaHash: Buffer } {
    return { vecHash: vecHashOf(this.#slots.vector(slot)), metaHash: metaHashOf(this.#slots.metadata(slot)) };
  }

  /**
   * Returns the path to a record in `state`. It is empty for a record of another shard, unless this
   * shard holds a single record. Takes time in proportion to the changes since.
   */
  pathTo(id: string, state: HeldState): Path<MapEntry> {
    const key = keyHashOf(id);
    if (state.head.count > 1 && !isOfShard(this.#spec, key)) return { siblings: [], terminal: null };
    const later = [...changesSince(state), this.#group?.staging.changes ?? new Map<string, Change>()];
    for (const changes of later.toReversed()) this.#undo(changes);
    try {
      return this.#map.prove(key);
    } finally {
      for (const changes of later) this.#redo(changes);
    }
  }

  #changeSince(state: HeldState, id: string): Change | undefined {
    if (state.next !== null) {
      for (const changes of changesSince(state)) {
        const change = changes.get(id);
        if (change) return change;
      }
    }
    return this.#group?.staging.changes.get(id);
  }

  #undo(changes: Changes): void {
    for (const { key, oldLeaf, oldSlot } of changes.values()) this.#put(key, oldLeaf, oldSlot);
  }

  #redo(changes: Changes): void {
    for (const { key, newLeaf, newSlot } of changes.values()) this.#put(key, newLeaf, newSlot);
  }

  #put(key: Buffer, leaf: Buffer | null, slot: number): void {
    if (leaf !== null) this.#map.set(key, leaf, slot);
    else this.#map.delete(key);
  }

  #show({ changes, seq }: Staging, head: ShardHead): void {
    this.history.advance(changes, head);
    this.#view.version++;
    for (const { oldSlot, newSlot } of changes.values()) {
      if (newSlot === oldSlot) {
        if (newSlot >= 0) this.#slots.setSeq(newSlot, seq);
        continue;
      }
      if (newSlot >= 0) this.#slots.makeLive(newSlot);
      this.#view.changed(oldSlot, newSlot);
      if (oldSlot >= 0) this.#slots.free(oldSlot);
    }
    this.#head = head;
  }

  #headAt(seq: number, version: number): ShardHead {
    const { type, hash } = this.#map.root();
    return { seq, version, type, hash: Uint8Array.from(hash), count: this.#map.size };
  }

  #assertNothingStaged(): void {
    if (this.isStaged) throw new Error('A group of writes is staged.');
  }

  #assertNew(): void {
    this.#assertNothingStaged();
    if (this.#head.seq !== 0) throw new Error('Only a new shard can be restored.');
  }
}
