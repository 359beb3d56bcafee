/**
 * A committed state of a shard, for reads.
 *
 * Until a commit follows, reads use the shard's own index, columns and order of ids; if the shard
 * changes while such a read is under way, the read begins again. After a commit they use a view of
 * the slots that were live before it, which has no graph: searches scan it.
 */
import { strict as assert } from 'node:assert';
import { itemAt } from '../../../lib/checked-access.ts';
import type { ValueCount, ValueCounts } from '../../../lib/filter/value-counts.ts';
import { keyHashOf } from '../../../lib/merkle/leaf.ts';
import type { ChangePreview, MetadataMerge, PreviewOptions, RecordUpdate } from '../../../lib/shard/change.ts';
import type { FieldReport } from '../../../lib/shard/field-report.ts';
import type { ShardHead } from '../../../lib/shard/head.ts';
import type { FetchedRecord, ListedRecord, ShardMatch } from '../../../lib/shard/match.ts';
import type { ShardProof } from '../../../lib/shard/proof.ts';
import type { ListOptions, NamespaceRange } from '../../../lib/shard/read.ts';
import type { ShardSpec } from '../../../lib/shard/spec.ts';
import { oneStep, StepMeter, type Steps } from '../steps.ts';
import { bitsOf } from './bitmap.ts';
import type { Commits } from './commits.ts';
import type { HeldState } from './history.ts';
import type { ParsedScope, ReadResult, ShardQuery, ShardSnapshot } from './port.ts';
import { previewMerge, previewUpdateList } from './preview.ts';
import { recordAt, ScanResult, SlotResult } from './results.ts';
import type { SearchOptions } from './search.ts';
import { ShardView } from './shard-view.ts';
import type { FrozenSlots } from './slot-view.ts';
import type { Slots } from './slots.ts';
import { assertDimensions } from './staging.ts';

/** Estimated cost of finding a record by its id, in nanoseconds. */
const LOOKUP_NS = 3_000;
const ABSENT = 0xffffffff;

/** The parts of a shard that its snapshots read. */
export interface ReadParts {
  readonly spec: ShardSpec;
  readonly slots: Slots;
  /** What searches the committed state. */
  readonly view: ShardView;
  readonly commits: Commits;
  readonly stepNs: number;
  readonly options: SearchOptions;
}

type ReadsView<T> = (view: ShardView, meter: StepMeter) => Steps<T>;

export class Snapshot implements ShardSnapshot {
  readonly #parts: ReadParts;
  readonly #state: HeldState;
  #isReleased = false;

  constructor(parts: ReadParts) {
    this.#parts = parts;
    this.#state = parts.commits.history.hold(parts.commits.head);
  }

  get head(): ShardHead {
    return this.#state.head;
  }

  *query(query: ShardQuery): Steps<ReadResult<ShardMatch>> {
    const { spec, slots, view } = this.#parts;
    assertDimensions(spec, query.vector);
    const ranking = yield* this.#read(({ search }, meter) => search.rank(query, meter));
    const matchAt = (rank: number): ShardMatch => view.search.matchAt(rank, ranking, query);
    return new SlotResult(slots, ranking.slots, matchAt, ranking.fields);
  }

  *list(listing: ListOptions & ParsedScope): Steps<ReadResult<ListedRecord>> {
    const { slots } = this.#parts;
    const { includeValues, includeMetadata, ...range } = listing;
    const { slots: found, fields } = yield* this.#read((view, meter) => view.list(range, meter));
    const recordOf = (at: number): ListedRecord => {
      const slot = itemAt(found, at);
      const record: ListedRecord = { id: slots.id(slot) };
      if (includeValues) record.values = slots.vector(slot).slice();
      if (includeMetadata) record.metadata = slots.metadata(slot).toString();
      return record;
    };
    return new SlotResult(slots, found, recordOf, fields);
  }

  *fetch(ids: string[]): Steps<ReadResult<FetchedRecord>> {
    const { slots } = this.#parts;
    const all = yield* this.#slotsOf(ids);
    const found = all.filter((slot) => slot !== ABSENT);
    return new SlotResult(slots, found, (at) => recordAt(slots, itemAt(found, at)));
  }

  scan(): ReadResult<FetchedRecord> {
    const { slots } = this.#parts;
    this.#assertHeld();
    const { live, liveCount } = this.#state.frozen ?? slots;
    return new ScanResult(slots, slots.hold(live.words), liveCount);
  }

  count(scope: ParsedScope): Steps<{ count: number; fields?: FieldReport | undefined }> {
    return this.#read(({ search }, meter) => search.selector.count(scope, meter));
  }

  facets(
    field: string,
    scope: ParsedScope,
  ): Steps<{ counts: ValueCounts; missing: number; fields?: FieldReport | undefined }> {
    return this.#read(({ search }, meter) => search.selector.countValues(field, scope, meter));
  }

  namespaces(range: NamespaceRange): Steps<ValueCount[]> {
    return this.#read(({ search }, meter) => search.selector.namespaces(range, meter));
  }

  previewMerge(change: ParsedScope & MetadataMerge & PreviewOptions): Steps<ChangePreview> {
    const { namespace, filter, fields } = change;
    return this.#read(function* ({ slots, search }, meter) {
      const selection = yield* search.selector.select({ namespace, filter, fields }, meter);
      return { ...(yield* previewMerge(slots, selection, change, meter)), fields: selection.fields };
    });
  }

  *previewUpdates(updates: RecordUpdate[], terms: PreviewOptions): Steps<ChangePreview> {
    const { slots } = this.#parts;
    const all = yield* this.#slotsOf(updates.map(({ id }) => id));
    const found = updates.map((update, at) => ({ update, slot: itemAt(all, at) }));
    const present = found.filter(({ slot }) => slot !== ABSENT);
    return yield* previewUpdateList(slots, present, terms, this.#meter());
  }

  *metadataBytes(ids: string[]): Steps<number[]> {
    const { slots } = this.#parts;
    return Array.from(yield* this.#slotsOf(ids), (slot) => (slot === ABSENT ? 0 : slots.metadata(slot).length));
  }

  *countNew(ids: string[]): Steps<number> {
    return (yield* this.#slotsOf(ids)).filter((slot) => slot === ABSENT).length;
  }

  prove(id: string): Steps<ShardProof> {
    return oneStep(() => {
      this.#assertHeld();
      const { head } = this.#state;
      const { siblings, terminal } = this.#parts.commits.pathTo(id, this.#state);
      if (terminal === null) return { head, siblings, terminal: null, present: false };
      const { vecHash, metaHash } = this.#parts.commits.partsAt(terminal.slot);
      return {
        head,
        siblings,
        terminal: {
          key: terminal.key.toString('hex'),
          vecHash: vecHash.toString('hex'),
          metaHash: metaHash.toString('hex'),
        },
        present: terminal.key.equals(keyHashOf(id)),
      };
    });
  }

  leafOf(id: string): { leaf: Buffer; seq: number } | null {
    this.#assertHeld();
    return this.#parts.commits.leafOf(id, this.#state);
  }

  partsOf(id: string): { vecHash: Buffer; metaHash: Buffer } | null {
    this.#assertHeld();
    const slot = this.#parts.commits.slotOf(id, this.#state);
    return slot < 0 ? null : this.#parts.commits.partsAt(slot);
  }

  *ids(): Iterable<{ id: string; seq: number }> {
    this.#assertHeld();
    const { slots, commits } = this.#parts;
    const held = slots.hold((this.#state.frozen ?? slots).live.words);
    try {
      for (const slot of bitsOf(held)) yield { id: slots.id(slot), seq: commits.seqOf(slot, this.#state) };
    } finally {
      slots.endHold(held);
    }
  }

  release(): void {
    if (!this.#isReleased) this.#parts.commits.history.release(this.#state);
    this.#isReleased = true;
  }

  /** Returns the slots of the records, ABSENT for those that do not exist. */
  #slotsOf(ids: readonly string[]): Steps<Uint32Array> {
    const { commits } = this.#parts;
    const state = this.#state;
    return this.#read(function* (_view, meter) {
      const slots = new Uint32Array(ids.length);
      for (const [at, id] of ids.entries()) {
        slots[at] = commits.slotOf(id, state);
        meter.spentNs += LOOKUP_NS;
        if (meter.due()) yield 'reading';
      }
      return slots;
    });
  }

  /** Runs a read on this state, and begins it again if what it reads changes under it. */
  *#read<T>(read: ReadsView<T>): Steps<T> {
    for (;;) {
      this.#assertHeld();
      const { view } = this.#parts;
      const frozen = this.#state.frozen && (yield* this.#frozenView(this.#state.frozen));
      const { version } = view;
      const steps = read(frozen ?? view, this.#meter());
      try {
        for (;;) {
          const { done, value } = steps.next();
          if (done) return value;
          // A commit does not change the slots of an earlier state.
          yield frozen === null ? value : 'sending';
          if (frozen === null && view.version !== version) break;
        }
      } finally {
        steps.return(undefined as T);
      }
    }
  }

  *#frozenView(slots: FrozenSlots): Steps<ShardView> {
    if (this.#state.view !== null) return this.#state.view;
    const view = new ShardView(this.#parts.spec, slots, this.#parts.options);
    yield* view.addLive(this.#meter());
    this.#assertHeld();
    this.#state.view ??= view;
    return this.#state.view;
  }

  #meter(): StepMeter {
    return new StepMeter(this.#parts.stepNs);
  }

  #assertHeld(): void {
    assert(!this.#isReleased, 'The snapshot is released.');
  }
}
