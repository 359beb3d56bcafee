/**
 * One shard as a deterministic state machine: synchronous, with no I/O except checkpoint files. The
 * state changes only through `commit`, `replay`, `restore` and `endRestore`. See port.ts.
 */

import { join } from 'node:path';
import { isSameState, type ShardHead } from '../../../lib/shard/head.ts';
import type { MemoryParts } from '../../../lib/shard/memory.ts';
import type { ShardSpec } from '../../../lib/shard/spec.ts';
import type { FetchedCheckpoint } from '../../../store/checkpoints.ts';
import type { StoredRecord } from '../../../store/records.ts';
import { STEP_NS, StepMeter, type Steps } from '../steps.ts';
import { UnreadableBytes } from '../unreadable-bytes.ts';
import type { MatchedRecords, MatchingWrite } from './apply-write.ts';
import { bitsOf } from './bitmap.ts';
import { GRAPH_FILE, NO_KEY, readHeader, readRecords, writeCheckpoint } from './checkpoint.ts';
import { Commits } from './commits.ts';
import type { ReplayedEntry, ShardSnapshot, ShardWrite, ShardWriter, Staged } from './port.ts';
import { withPrivateCopy } from './private-copy.ts';
import type { SearchOptions } from './search.ts';
import { ShardView } from './shard-view.ts';
import { Slots } from './slots.ts';
import { type ReadParts, Snapshot } from './snapshot.ts';

const COMPACTION_SLICE_RECORDS = 64;
/** Number of matching records that a write by filter visits in a step. */
const VISITS_PER_STEP = 32;

export type EngineOptions = SearchOptions;

export class Shard implements ShardWriter {
  readonly #parts: ReadParts;
  readonly #monotonicMs: () => number;

  constructor(spec: ShardSpec, options: EngineOptions = {}) {
    const slots = new Slots(spec.dimensions);
    const view = new ShardView(spec, slots, options);
    const commits = new Commits(spec, slots, view);
    this.#parts = { spec, slots, view, commits, options, stepNs: options.stepNs ?? STEP_NS };
    this.#monotonicMs = options.monotonicMs ?? (() => performance.now());
  }

  get spec(): ShardSpec {
    return this.#parts.spec;
  }

  get head(): ShardHead {
    return this.#parts.commits.head;
  }

  get records(): number {
    return this.#parts.slots.liveCount;
  }

  get bytes(): number {
    const { slots, view, commits } = this.#parts;
    return slots.bytes + view.bytes + commits.bytes;
  }

  get memory(): MemoryParts {
    const { slots, view, commits } = this.#parts;
    const vectors = slots.chunks.reduce((sum, chunk) => sum + chunk.vectors.byteLength, 0);
    const records = slots.arena.bytes;
    const index = view.search.index.bytes;
    const filters = view.bytes - index;
    return { vectors, records, index, filters, merkleMap: commits.bytes, slots: slots.bytes - vectors - records };
  }

  get unindexed(): number {
    return this.#parts.view.search.index.waiting;
  }

  get hasOutdatedIndex(): boolean {
    return this.#parts.view.search.index.isOutdated;
  }

  get unaddressable(): number {
    return this.#parts.view.search.selector.unaddressable;
  }

  get isStaged(): boolean {
    return this.#parts.commits.isStaged;
  }

  snapshot(): ShardSnapshot {
    return new Snapshot(this.#parts);
  }

  stage(writes: Iterable<ShardWrite>): Steps<Staged> {
    return this.#parts.commits.stage(writes, (write) => this.#matching(write));
  }

  commit(): void {
    this.#parts.commits.commit();
  }

  abort(): void {
    this.#parts.commits.abort();
  }

  replay(entry: ReplayedEntry): boolean {
    return this.#parts.commits.replay(entry);
  }

  restore(records: StoredRecord[]): number {
    let skipped = 0;
    for (const record of records) {
      try {
        this.#parts.commits.restore(record);
      } catch (error) {
        if (!(error instanceof UnreadableBytes)) throw error;
        skipped++;
      }
    }
    return skipped;
  }

  *endRestore(throughSeq: number, version: number): Steps<ShardHead> {
    yield* this.#parts.commits.endRestore(throughSeq, version);
    return this.head;
  }

  maintain(budgetMs: number, mayUpgrade = true): boolean {
    const until = this.#monotonicMs() + budgetMs;
    let more = true;
    const { view } = this.#parts;
    view.version++;
    while (more && this.#monotonicMs() < until) more = this.#compactSlice() || view.search.index.buildSlice(mayUpgrade);
    return more;
  }

  *checkpoint(folder: string): Steps<ShardHead> {
    const { spec, slots, view, commits } = this.#parts;
    const state = commits.history.hold(this.head);
    const words = slots.hold();
    try {
      const content = { spec, head: state.head, slots, words, seqOf: (slot: number) => commits.seqOf(slot, state) };
      yield* writeCheckpoint(folder, content, view.search.index.graph);
      return state.head;
    } finally {
      slots.endHold(words);
      commits.history.release(state);
    }
  }

  /** See `ShardEngine.load`. */
  static *load(checkpoint: FetchedCheckpoint, spec: ShardSpec, options: EngineOptions = {}): Steps<Shard> {
    const shard = new Shard(spec, options);
    yield* shard.#load(checkpoint);
    return shard;
  }

  *#load({ folder, files }: FetchedCheckpoint): Steps<void> {
    const { spec, slots, view, commits } = this.#parts;
    const { index } = view.search;
    const { head, ...header } = readHeader(folder);
    for (const [name, value] of Object.entries(header.spec)) {
      if (spec[name as keyof ShardSpec] !== value)
        throw new Error(`The checkpoint belongs to a shard with a different ${name}.`);
    }
    const graph = header.graph && index.emptyGraph(header.graph);
    if (graph !== null && header.graph !== null) {
      const { nodes } = header.graph;
      const { sha256 } = files.find(({ name }) => name === GRAPH_FILE) ?? {};
      if (sha256 === undefined) throw new Error('The graph file is missing.');
      yield* withPrivateCopy(join(folder, GRAPH_FILE), sha256, (copy) => graph.load(copy, nodes));
    }
    yield* readRecords(folder, (record) => {
      const slot = commits.restore(record);
      if (record.key !== NO_KEY && graph === null) throw new Error('The checkpoint has keys but no graph.');
      if (record.key !== NO_KEY) graph?.attach(record.key, slot, slots.vector(slot), slots.norm(slot));
      else graph?.insert(slot);
    });
    if (graph !== null) yield* index.adopt(graph);
    yield* commits.endRestore(head.seq, head.version);
    if (!isSameState(this.head, head)) throw new Error('The records of the checkpoint do not match its root.');
  }

  #compactSlice(): boolean {
    if (this.isStaged) return false;
    const { slots, view, commits } = this.#parts;
    if (!slots.compactionDue) return slots.compactArenaSlice();
    slots.compactSlice(COMPACTION_SLICE_RECORDS, (from, to) => {
      commits.moved(to);
      view.moved(from, to);
    });
    return true;
  }

  /** Finds up to `max` matching records written at or before `throughSeq`. */
  *#matching({ throughSeq, max, ...scope }: MatchingWrite): Steps<MatchedRecords> {
    const { slots, view, stepNs } = this.#parts;
    const through = throughSeq ?? this.head.seq;
    const { words, fields } = yield* view.search.selector.select(scope, new StepMeter(stepNs));
    const ids: string[] = [];
    let visited = 0;
    for (const slot of bitsOf(words)) {
      if (++visited % VISITS_PER_STEP === 0) yield 'staging';
      if (slots.seq(slot) > through) continue;
      if (ids.length === max) return { ids, next: { throughSeq: through }, fields };
      ids.push(slots.id(slot));
    }
    return { ids, fields };
  }
}
