/**
 * One shard as a deterministic state machine: synchronous, with no I/O except checkpoint files.
 *
 * Guarantees: the state changes only through `commit`, `replay`, `restore` and `endRestore`. The
 * same log gives the same root. Every answer shows committed state. While a group is staged, the
 * Merkle map is ahead of the committed state. Until `commit` or `abort`, `fetch`, `countNew`,
 * `prove`, `save` and another `stage` therefore throw; `query`, `head`, `maintain` and reads of
 * pinned records work. A write that throws in `stage` (RangeError: ill-formed id or vector, out of
 * memory) changes nothing.
 */

import { join } from 'node:path';
import type { ValueCount } from '../../../lib/filter/value-counts.ts';
import { keyHashOf, metaHashOf, vecHashOf } from '../../../lib/merkle/leaf.ts';
import { MerkleMap } from '../../../lib/merkle/map.ts';
import type { ChangePreview, MetadataMerge, PreviewOptions, RecordUpdate } from '../../../lib/shard/change.ts';
import { EMPTY_HEAD, isSameState, type ShardHead } from '../../../lib/shard/head.ts';
import type { FetchedRecord, IncludedFields, ListedRecord, ShardMatch } from '../../../lib/shard/match.ts';
import type { ShardProof } from '../../../lib/shard/proof.ts';
import type { NamespaceRange } from '../../../lib/shard/read.ts';
import { isOfShard, type ShardSpec } from '../../../lib/shard/spec.ts';
import type { FetchedCheckpoint } from '../../../store/checkpoints.ts';
import { type LogEntry, versionAfter } from '../../../store/log.ts';
import type { StoredRecord } from '../../../store/records.ts';
import { decodeEntryBody, encodeEntryBody } from '../entry.ts';
import { STEP_NS, StepMeter, type Steps } from '../steps.ts';
import { UnreadableBytes } from '../unreadable-bytes.ts';
import { applyWrite, type MatchedRecords, type MatchingWrite } from './apply-write.ts';
import { type CheckpointHeader, GRAPH_FILE, NO_KEY, readCheckpoint, writeCheckpoint } from './checkpoint.ts';
import type { FieldCounts } from './filter/facets.ts';
import type { Selection } from './filter/selection.ts';
import type { Graph } from './graph.ts';
import { IdOrder, type ListRange } from './id-order.ts';
import { previewMerge, previewUpdateList } from './preview.ts';
import { withPrivateCopy } from './private-copy.ts';
import type { ParsedScope, ShardQuery } from './query.ts';
import { type Ranking, Search, type SearchOptions } from './search.ts';
import { Slots } from './slots.ts';
import { assertDimensions, assertMetadata, hashRecord, Staging } from './staging.ts';
import type { ShardWrite, Staged, WriteOutcome } from './write.ts';

const COMPACTION_SLICE_RECORDS = 64;

export type EngineOptions = SearchOptions;

/** The slots of the listed records, in order. */
interface Listed extends Pick<Selection, 'fields'> {
  slots: Uint32Array;
}

export class Shard {
  readonly spec: ShardSpec;
  readonly #map: MerkleMap;
  readonly #slots: Slots;
  readonly #search: Search;
  readonly #idOrder: IdOrder;
  readonly #stepNs: number;
  readonly #monotonicMs: () => number;
  #head: ShardHead = EMPTY_HEAD;
  /** The group being staged. `head` is the state after it, null until staging is complete. */
  #staged: { staging: Staging; head: ShardHead | null } | null = null;

  constructor(spec: ShardSpec, options: EngineOptions = {}) {
    this.spec = spec;
    this.#map = new MerkleMap({ skipBits: Math.log2(spec.of) });
    this.#slots = new Slots(spec.dimensions);
    this.#search = new Search(spec, this.#slots, options);
    this.#idOrder = new IdOrder(this.#slots);
    this.#stepNs = options.stepNs ?? STEP_NS;
    this.#monotonicMs = options.monotonicMs ?? (() => performance.now());
  }

  /** Head of the committed state. */
  get head(): ShardHead {
    return this.#head;
  }

  get records(): number {
    return this.#slots.liveCount;
  }

  /** Bytes of memory held; the index's part is an estimate. */
  get bytes(): number {
    return this.#slots.bytes + this.#map.bytes + this.#search.bytes + this.#idOrder.bytes;
  }

  /** Number of records that `maintain` has not indexed yet. */
  get unindexed(): number {
    return this.#search.index.waiting;
  }

  /** Whether `maintain` still has to replace a graph of an earlier version. */
  get hasOutdatedGraph(): boolean {
    return this.#search.index.isOutdated;
  }

  /** Number of records that no request can name, because their stored id cannot be parsed. */
  get unaddressable(): number {
    return this.#search.selector.unaddressable;
  }

  /** Whether a group is staged or being staged. */
  get isStaged(): boolean {
    return this.#staged !== null;
  }

  /**
   * Computes what a group of writes changes, without making any of it visible. One step per record.
   */
  *stageSteps(writes: Iterable<ShardWrite>): Steps<Staged> {
    this.#assertNothingStaged();
    const staging = new Staging(this.spec, this.#map, this.#slots, this.#head.seq + 1);
    this.#staged = { staging, head: null };
    try {
      const outcomes: WriteOutcome[] = [];
      for (const write of writes)
        outcomes.push(yield* applyWrite(staging, write, (matching) => this.#matching(matching)));
      if (staging.isEmpty) {
        this.#staged = null;
        return { outcomes, commit: null };
      }
      const head = this.#headAt(this.#head.seq + 1, this.#head.version + 1);
      yield 'staging';
      const body = encodeEntryBody(staging.entry());
      this.#staged = { staging, head };
      return { outcomes, commit: { head, body } };
    } catch (error) {
      staging.undo();
      this.#staged = null;
      throw error;
    }
  }

  /** Makes the staged group visible. */
  commit(): void {
    const { staging, head = null } = this.#staged ?? {};
    if (staging === undefined || head === null) throw new Error('Nothing is staged.');
    this.#staged = null;
    this.#show(staging);
    this.#head = head;
  }

  /** Discards the staged group, if any. Throws while a group is being staged. */
  abort(): void {
    if (this.#staged?.head === null) throw new Error('A group is being staged.');
    this.#staged?.staging.undo();
    this.#staged = null;
  }

  /**
   * Applies a log entry. Returns false if the entry cannot be decoded or does not produce its
   * recorded root; the state advances all the same. Throws if the entry is out of order.
   */
  replay(entry: Pick<LogEntry, 'seq' | 'kind' | 'head' | 'body'>): boolean {
    this.#assertNothingStaged();
    if (entry.seq !== this.#head.seq + 1) throw new Error(`Entry ${entry.seq} does not follow ${this.#head.seq}.`);
    const staging = new Staging(this.spec, this.#map, this.#slots, entry.seq);
    let readable = entry.kind !== 'damaged';
    try {
      const { upserts, deletes } = decodeEntryBody(entry.body);
      for (const { id, vector, metadata } of upserts) {
        assertMetadata(metadata);
        staging.upsert(id, vector, metadata);
      }
      for (const id of deletes) staging.delete(id);
      this.#show(staging);
    } catch (error) {
      staging.undo();
      if (!(error instanceof UnreadableBytes)) throw error;
      readable = false;
    }
    const version = versionAfter(this.#head.version, entry);
    this.#head = this.#headAt(entry.seq, entry.kind === 'damaged' ? version : entry.head.version);
    return readable && isSameState(this.#head, entry.head) && this.#head.version === version;
  }

  /**
   * Loads stored records into a new shard and computes their leaves; call `endRestore` afterwards.
   * Skips whatever cannot be a record of this shard, and returns how many were skipped.
   */
  restore(records: StoredRecord[]): number {
    this.#assertNothingStaged();
    if (this.#head.seq !== 0) throw new Error('Only a new shard can be restored.');
    let leftOut = 0;
    for (const record of records) {
      try {
        this.#restoreOne(record);
      } catch (error) {
        if (!(error instanceof UnreadableBytes)) throw error;
        leftOut++;
      }
    }
    return leftOut;
  }

  /** Ends `restore`: the records are the state at `throughSeq`, the result of `version` writes. */
  endRestore(throughSeq: number, version: number): ShardHead {
    this.#assertNothingStaged();
    if (this.#head.seq !== 0) throw new Error('Only a new shard can be restored.');
    this.#head = this.#headAt(throughSeq, version);
    return this.#head;
  }

  /** Ranks the best matches, in steps. Throws RangeError for a vector of another length. */
  *rankSteps(query: ShardQuery): Steps<Ranking> {
    assertDimensions(this.spec, query.vector);
    return yield* this.#search.rank(query);
  }

  countSteps(scope: ParsedScope): Steps<Pick<Selection, 'count' | 'fields'>> {
    return this.#search.selector.count(scope, this.#meter());
  }

  /** Computes what a merge into the records of a scope would do. */
  *previewSteps(change: ParsedScope & MetadataMerge & PreviewOptions): Steps<ChangePreview> {
    const meter = this.#meter();
    const { namespace, filter, fields } = change;
    const selection = yield* this.#search.selector.select({ namespace, filter, fields }, meter);
    return { ...(yield* previewMerge(this.#slots, selection, change, meter)), fields: selection.fields };
  }

  /** Computes what updates by id (no id twice) would do to the current records. */
  previewUpdatesSteps(updates: RecordUpdate[], terms: PreviewOptions): Steps<ChangePreview> {
    this.#assertNothingStaged();
    const updated = updates.map((update) => ({ update, slot: this.#map.find(keyHashOf(update.id)) }));
    const present = updated.filter(({ slot }) => slot >= 0);
    return previewUpdateList(this.#slots, present, terms, this.#meter());
  }

  /** Counts how often each value of a field occurs in the records of a scope. */
  countValuesSteps(field: string, scope: ParsedScope): Steps<FieldCounts & Pick<Selection, 'fields'>> {
    return this.#search.selector.countValues(field, scope, this.#meter());
  }

  /** Lists the non-empty namespaces by name, with the number of records in each. */
  namespacesSteps(asked: NamespaceRange): Steps<ValueCount[]> {
    return this.#search.selector.namespaces(asked, this.#meter());
  }

  /** Returns the slots of the first matching records in a range, in id order. */
  *listSteps({ namespace, filter, fields, ...range }: ListRange & ParsedScope): Steps<Listed> {
    const meter = this.#meter();
    // Build first: a build allows changes, but after the selection the shard must not change.
    yield* this.#idOrder.build(meter);
    const scope = { namespace, filter, fields };
    const { selector } = this.#search;
    const selection = selector.isAll(scope) ? null : yield* selector.select(scope, meter);
    const slots = yield* this.#idOrder.slotsIn(range, selection?.words ?? null, meter);
    return { slots, fields: selection?.fields };
  }

  /** Returns one match of a ranking. Its slots must be pinned, or the state unchanged since. */
  matchAt(rank: number, ranking: Ranking, query: ShardQuery): ShardMatch {
    return this.#search.matchAt(rank, ranking, query);
  }

  /** Pins records: they stay readable in these slots, whatever is committed, until `unpin`. */
  pin(slots: Uint32Array): void {
    this.#slots.pin(slots);
  }

  unpin(slots: Uint32Array): void {
    this.#slots.unpin(slots);
  }

  /** Takes a snapshot: the slots of all records, as a bitmap. Release each slot once it is read. */
  snapshot(): Uint32Array {
    return this.#slots.snapshot();
  }

  releaseSlot(held: Uint32Array, slot: number): void {
    this.#slots.releaseSlot(held, slot);
  }

  endSnapshot(held: Uint32Array): void {
    this.#slots.endSnapshot(held);
  }

  /** Returns the slots of those records that exist, in the order of `ids`. */
  slotsOf(ids: string[]): Uint32Array {
    this.#assertNothingStaged();
    return Uint32Array.from(ids.map((id) => this.#map.find(keyHashOf(id))).filter((slot) => slot >= 0));
  }

  recordAt(slot: number): FetchedRecord {
    const slots = this.#slots;
    return { id: slots.id(slot), values: slots.vector(slot).slice(), metadata: slots.metadata(slot).toString() };
  }

  listedAt(slot: number, { includeValues, includeMetadata }: IncludedFields): ListedRecord {
    const record: ListedRecord = { id: this.#slots.id(slot) };
    if (includeValues) record.values = this.#slots.vector(slot).slice();
    if (includeMetadata) record.metadata = this.#slots.metadata(slot).toString();
    return record;
  }

  /** Returns the size of each record's metadata in bytes, 0 if the record does not exist. */
  metadataBytes(ids: string[]): number[] {
    this.#assertNothingStaged();
    const slots = ids.map((id) => this.#map.find(keyHashOf(id)));
    return slots.map((slot) => (slot < 0 ? 0 : this.#slots.metadata(slot).length));
  }

  /** Counts how many of `ids` (no id twice) do not exist. */
  countNew(ids: string[]): number {
    this.#assertNothingStaged();
    let count = 0;
    for (const id of ids) if (this.#map.find(keyHashOf(id)) < 0) count++;
    return count;
  }

  /** Returns the record's leaf and the seq of the commit that wrote it. */
  leafOf(id: string): { leaf: Buffer; seq: number } | null {
    this.#assertNothingStaged();
    const key = keyHashOf(id);
    const leaf = this.#map.leafAt(key);
    return leaf === null ? null : { leaf, seq: this.#slots.seq(this.#map.find(key)) };
  }

  /** Returns the hashes that the record's leaf is computed from. */
  partsOf(id: string): { vecHash: Buffer; metaHash: Buffer } | null {
    this.#assertNothingStaged();
    const slot = this.#map.find(keyHashOf(id));
    return slot < 0 ? null : this.#partsAt(slot);
  }

  /**
   * Yields each record's id and the seq that wrote it, in any order. No write may happen in
   * between.
   */
  *ids(): Iterable<{ id: string; seq: number }> {
    this.#assertNothingStaged();
    for (const { slot } of this.#map.entries()) yield { id: this.#slots.id(slot), seq: this.#slots.seq(slot) };
  }

  /**
   * Returns a proof of the record's presence or absence under `head`. For a record of another shard
   * the head alone is the proof, unless this shard holds a single record: then the proof must show
   * it.
   */
  prove(id: string): ShardProof {
    this.#assertNothingStaged();
    const key = keyHashOf(id);
    const isElsewhere = this.records > 1 && !isOfShard(this.spec, key);
    if (isElsewhere) return { head: this.#head, siblings: [], terminal: null, present: false };
    const { siblings, terminal } = this.#map.prove(key);
    if (terminal === null) return { head: this.#head, siblings, terminal: null, present: false };
    const { vecHash, metaHash } = this.#partsAt(terminal.slot);
    return {
      head: this.#head,
      siblings,
      terminal: {
        key: terminal.key.toString('hex'),
        vecHash: vecHash.toString('hex'),
        metaHash: metaHash.toString('hex'),
      },
      present: terminal.key.equals(key),
    };
  }

  /**
   * Indexes and compacts for about `budgetMs`. Returns true while there is more to do. Starts to
   * replace an outdated graph only if `mayUpgrade` is true. Throws IndexFailure.
   */
  maintain(budgetMs: number, mayUpgrade = true): boolean {
    const until = this.#monotonicMs() + budgetMs;
    let more = true;
    const { index } = this.#search;
    while (more && this.#monotonicMs() < until) more = this.#compactSlice() || index.buildSlice(mayUpgrade);
    return more;
  }

  /** Writes a checkpoint of the committed state into an empty folder. */
  save(folder: string): void {
    this.#assertNothingStaged();
    writeCheckpoint(folder, this.spec, this.#head, this.#slots, this.#search.index.graph);
  }

  /**
   * Loads a checkpoint. Throws an Error if it is damaged, belongs to another shard or does not
   * produce its root.
   */
  static load(checkpoint: FetchedCheckpoint, spec: ShardSpec, options: EngineOptions = {}): Shard {
    const shard = new Shard(spec, options);
    shard.#load(checkpoint);
    return shard;
  }

  #load({ folder, files }: FetchedCheckpoint): void {
    let head: ShardHead = EMPTY_HEAD;
    let graph: Graph | null = null;
    const readHeader = (header: CheckpointHeader): void => {
      for (const [name, value] of Object.entries(header.spec)) {
        if (this.spec[name as keyof ShardSpec] !== value)
          throw new Error(`The checkpoint belongs to a shard with a different ${name}.`);
      }
      head = header.head;
      if (header.graph === null) return;
      graph = this.#search.index.emptyGraph(header.graph);
      const { nodes } = header.graph;
      const { sha256 } = files.find(({ name }) => name === GRAPH_FILE) ?? {};
      if (sha256 === undefined) throw new Error('The graph file is missing.');
      withPrivateCopy(join(folder, GRAPH_FILE), sha256, (copy) => graph!.load(copy, nodes));
    };
    readCheckpoint(folder, readHeader, (record) => {
      const slot = this.#restoreOne(record);
      if (record.key !== NO_KEY && graph === null) throw new Error('The checkpoint has keys but no graph.');
      if (record.key !== NO_KEY) graph?.attach(record.key, slot, this.#slots.vector(slot), this.#slots.norm(slot));
      else graph?.insert(slot);
    });
    if (graph !== null) this.#search.index.adopt(graph);
    this.#head = this.#headAt(head.seq, head.version);
    if (!isSameState(this.#head, head)) throw new Error('The records of the checkpoint do not match its root.');
  }

  #meter(): StepMeter {
    return new StepMeter(this.#stepNs);
  }

  #compactSlice(): boolean {
    if (this.isStaged) return false;
    if (this.#slots.compactionDue) {
      this.#slots.compactSlice(COMPACTION_SLICE_RECORDS, (from, to) => {
        const key = keyHashOf(this.#slots.id(to));
        const leaf = this.#map.leafAt(key);
        if (leaf === null) throw new Error('A live record has no leaf.');
        this.#map.set(key, leaf, to);
        this.#search.moved(from, to);
        this.#idOrder.changed(from, to);
      });
      return true;
    }
    return this.#slots.compactArenaSlice();
  }

  /** Finds up to `max` matching records written at or before `throughSeq`. */
  *#matching({ throughSeq, max, ...scope }: MatchingWrite): Steps<MatchedRecords> {
    const through = throughSeq ?? this.#head.seq;
    const { words, fields } = yield* this.#search.selector.select(scope, this.#meter());
    const ids: string[] = [];
    for (let word = 0; word < words.length; word++) {
      for (let rest = words[word]; rest !== 0; rest &= rest - 1) {
        const slot = word * 32 + 31 - Math.clz32(rest & -rest);
        if (this.#slots.seq(slot) > through) continue;
        if (ids.length === max) return { ids, next: { throughSeq: through }, fields };
        ids.push(this.#slots.id(slot));
      }
      yield 'staging';
    }
    return { ids, fields };
  }

  #restoreOne({ id, vector, metadata, seq }: Omit<StoredRecord, 'leaf'>): number {
    assertDimensions(this.spec, vector);
    assertMetadata(metadata);
    const { key, leaf } = hashRecord(this.spec, id, vector, metadata);
    if (this.#map.find(key) >= 0) throw new UnreadableBytes('A record to be restored occurs twice.');
    const slot = this.#slots.allocate(Buffer.from(id), vector, metadata, seq);
    this.#map.set(key, leaf, slot);
    this.#slots.makeLive(slot);
    this.#changed(-1, slot);
    return slot;
  }

  #show(staging: Staging): void {
    for (const { oldSlot, newSlot } of staging.changes) {
      if (newSlot === oldSlot) {
        if (newSlot >= 0) this.#slots.setSeq(newSlot, staging.seq);
        continue;
      }
      if (newSlot >= 0) this.#slots.makeLive(newSlot);
      this.#changed(oldSlot, newSlot);
      if (oldSlot >= 0) this.#slots.free(oldSlot);
    }
  }

  /** Notifies everything that tracks records. Both slots are still readable. */
  #changed(oldSlot: number, newSlot: number): void {
    this.#search.changed(oldSlot, newSlot);
    this.#idOrder.changed(oldSlot, newSlot);
  }

  #partsAt(slot: number): { vecHash: Buffer; metaHash: Buffer } {
    return { vecHash: vecHashOf(this.#slots.vector(slot)), metaHash: metaHashOf(this.#slots.metadata(slot)) };
  }

  #headAt(seq: number, version: number): ShardHead {
    const { type, hash } = this.#map.root();
    return { seq, version, type, hash: Uint8Array.from(hash), count: this.#map.size };
  }

  #assertNothingStaged(): void {
    if (this.isStaged) throw new Error('A group of writes is staged.');
  }
}
