import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { IdOrder, type ListRange } from '../../../../../services/shards/engine/id-order.ts';
import { Shard } from '../../../../../services/shards/engine/shard.ts';
import { Slots } from '../../../../../services/shards/engine/slots.ts';
import { runThrough, StepMeter, type Steps } from '../../../../../services/shards/steps.ts';
import { propertyRuns } from '../../../../support/effort.ts';
import { itemsOf, readIn, settle, specWith, upsertOf, write } from '../../../../support/shard-engine.ts';

const CHUNK_SLOTS = 4;
const STEP_NS = 5_000;
/** A range without a limit. */
type Range = Omit<ListRange, 'limit'>;
const EVERYTHING: Range = { after: null, prefix: null };
/** Characters whose UTF-16 order differs from their UTF-8 order. */
const CHARACTERS = ['a', 'b', '\0', '\n', 'é', '\uffee', '\u{1f600}'];
const id = fc.string({ unit: fc.constantFrom(...CHARACTERS), minLength: 1, maxLength: 4 });

const byBytes = (a: string, b: string) => Buffer.compare(Buffer.from(a), Buffer.from(b));

type Change =
  | { kind: 'put'; id: string }
  | { kind: 'delete'; id: string }
  | { kind: 'build'; count: number }
  | { kind: 'compact'; count: number }
  | { kind: 'list'; range: Range; limit: number; ids: string[] | null };

const range = fc.record({ after: fc.option(id), prefix: fc.option(id) });
const change: fc.Arbitrary<Change> = fc.oneof(
  { weight: 5, arbitrary: fc.record({ kind: fc.constant('put' as const), id }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('delete' as const), id }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('build' as const), count: fc.nat(4) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('compact' as const), count: fc.integer({ min: 1, max: 6 }) }) },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('list' as const),
      range,
      limit: fc.integer({ min: 1, max: 30 }),
      ids: fc.option(fc.array(id)),
    }),
  },
);

/** Records in slots, an order over them, and the slot of each record. */
class Ordered {
  readonly slots = new Slots(1);
  readonly order = new IdOrder(this.slots, CHUNK_SLOTS);
  readonly lies = new Map<string, number>();
  #building: Steps<void> | null = null;

  put(id: string): void {
    const slot = this.slots.allocate(Buffer.from(id), new Float32Array(1), Buffer.from('{}'), 1);
    const before = this.lies.get(id) ?? -1;
    this.slots.makeLive(slot);
    this.order.changed(before, slot);
    if (before >= 0) this.slots.free(before);
    this.lies.set(id, slot);
  }

  delete(id: string): void {
    const slot = this.lies.get(id);
    if (slot === undefined) return;
    this.order.changed(slot, -1);
    this.slots.free(slot);
    this.lies.delete(id);
  }

  compact(most: number): void {
    this.slots.compactSlice(most, (from, to) => {
      this.lies.set(this.slots.id(to), to);
      this.order.changed(from, to);
    });
  }

  /** Continues a build for this many steps, then leaves the rest for later. */
  build(steps: number): void {
    this.#building ??= this.order.build(new StepMeter(STEP_NS));
    for (let step = 0; step < steps; step++) this.#building.next();
    this.#building.return(undefined);
    this.#building = null;
  }

  list(range: Range, ids: string[] | null, limit: number): string[] {
    const meter = new StepMeter(STEP_NS);
    runThrough(this.order.build(meter));
    let selected: Uint32Array | null = null;
    if (ids !== null) {
      selected = new Uint32Array((this.slots.end + 31) >>> 5);
      for (const id of ids) {
        const slot = this.lies.get(id);
        if (slot !== undefined) selected[slot >>> 5] |= 1 << (slot & 31);
      }
    }
    return Array.from(runThrough(this.order.slotsIn({ ...range, limit }, selected, meter)), (slot) =>
      this.slots.id(slot),
    );
  }

  expected({ after, prefix }: Range, ids: string[] | null, limit: number): string[] {
    return [...this.lies.keys()]
      .filter((id) => ids === null || ids.includes(id))
      .filter((id) => after === null || byBytes(id, after) > 0)
      .filter((id) => prefix === null || id.startsWith(prefix))
      .sort(byBytes)
      .slice(0, limit);
  }
}

test('is a sorted array, whatever is added, changed, moved and removed during a build', () => {
  const changes = fc.array(change, { minLength: 1, maxLength: 150, size: 'max' });
  fc.assert(
    fc.property(fc.uniqueArray(id, { maxLength: 60, size: 'max' }), changes, (first, changes) => {
      const ordered = new Ordered();
      for (const each of first) ordered.put(each);
      for (const each of changes) {
        if (each.kind === 'put') ordered.put(each.id);
        else if (each.kind === 'delete') ordered.delete(each.id);
        else if (each.kind === 'build') ordered.build(each.count);
        else if (each.kind === 'compact') ordered.compact(each.count);
        else {
          const { range, ids, limit } = each;
          expect(ordered.list(range, ids, limit)).toEqual(ordered.expected(range, ids, limit));
        }
      }
      expect(ordered.list(EVERYTHING, null, 1_000)).toEqual(ordered.expected(EVERYTHING, null, 1_000));
      for (const each of [...ordered.lies.keys()]) ordered.delete(each);
      expect([ordered.list(EVERYTHING, null, 1), ordered.order.bytes]).toEqual([[], 0]);
    }),
    { numRuns: propertyRuns(1_600) },
  );
});

describe('its memory', () => {
  const numbered = (count: number) => Array.from({ length: count }, (_, i) => `r${String(i).padStart(6, '0')}`);
  const bytesOf = (ids: string[]) => {
    const ordered = new Ordered();
    ordered.build(1);
    for (const id of ids) ordered.put(id);
    return ordered.order.bytes;
  };
  const chunkBytes = bytesOf(['a']);

  test('ids in order fill their chunks', () => {
    expect(bytesOf(numbered(CHUNK_SLOTS * 25))).toBe(25 * chunkBytes);
  });

  test('chunks nearly emptied by deletes are merged', () => {
    const ordered = new Ordered();
    ordered.build(1);
    const ids = numbered(1_000);
    for (const id of ids) ordered.put(id);
    for (const [at, id] of ids.entries()) if (at % 8 > 0) ordered.delete(id);
    expect(ordered.order.bytes).toBeLessThanOrEqual(((2 * 125) / (CHUNK_SLOTS / 2 + 1) + 1) * chunkBytes);
  });

  test('ids in any other order fill at least about half of them', () => {
    for (const ids of [numbered(1_000).reverse(), numbered(1_000).sort((a, b) => byBytes(a.slice(4), b.slice(4)))])
      expect(bytesOf(ids)).toBeLessThanOrEqual((1_000 / (CHUNK_SLOTS / 2) + 1) * chunkBytes);
  });
});

const LISTED = { filter: null, limit: 1_000, includeValues: false, includeMetadata: false, ...EVERYTHING };

function listed(shard: Shard, listing: Partial<typeof LISTED> = {}): string[] {
  return itemsOf(readIn(shard, (snapshot) => snapshot.list({ ...LISTED, ...listing }))).map(({ id }) => id);
}

test('a shard uses no memory for it before it is first listed, and counts it from then on', () => {
  const shard = new Shard(specWith({ dimensions: 2 }), { stepNs: 1 });
  const record = { values: [1, 1], metadata: {} };
  const ids = Array.from({ length: 600 }, (_, i) => `r${i}`);
  write(
    shard,
    upsertOf(
      ids.map((id) => [id, record]),
      2,
    ),
  );
  const before = shard.bytes;
  const snapshot = shard.snapshot();
  const steps = snapshot.list(LISTED);
  expect([shard.bytes, steps.next().value]).toEqual([before, 'building']);
  expect(shard.bytes).toBeGreaterThan(before);
  steps.return(undefined as never);
  snapshot.release();
  expect(listed(shard)).toEqual(ids.toSorted(byBytes));
  expect(shard.bytes).toBeGreaterThan(before + 600 * 4);
  expect(shard.bytes).toBeLessThan(before + 600 * 20);
});

test('a shard lists what is committed, even after its records moved', () => {
  const shard = new Shard(specWith({ dimensions: 512 }), { graphMinRecords: 1e9, stepNs: 1 });
  const values = Array.from({ length: 512 }, (_, d) => d + 1);
  const ids = Array.from({ length: 1_500 }, (_, i) => `r${i}`);
  const put = (some: string[]) =>
    write(
      shard,
      upsertOf(
        some.map((id) => [id, { values, metadata: {} }]),
        512,
      ),
    );
  for (let i = 0; i < ids.length; i += 500) put(ids.slice(i, i + 500));
  const snapshot = shard.snapshot();
  const begun = snapshot.list(LISTED);
  for (let step = 0; step < 700; step++) expect(begun.next().value).toBe('building');
  begun.return(undefined as never);
  snapshot.release();
  const kept = ids.filter((_, i) => i % 3 === 0);
  write(shard, { kind: 'delete', ids: ids.filter((id) => !kept.includes(id)) });
  const held = shard.bytes;
  settle(shard);
  expect(shard.bytes).toBeLessThan(held * 0.6);
  put(['r0', 'new']);
  expect(listed(shard)).toHaveLength(501);
  expect(listed(shard)).toEqual([...kept, 'new'].sort(byBytes));
  const staged = runThrough(shard.stage([{ kind: 'delete', ids: ['new'] }]));
  expect([staged.commit === null, listed(shard).at(0)]).toEqual([false, 'new']);
  shard.commit();
  expect(listed(shard)).toEqual(kept.toSorted(byBytes));
});
