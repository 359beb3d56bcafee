import { expect, test } from '@jest/globals';
import type { ShardSnapshot, ShardWrite, ShardWriter } from '../../services/shards/engine/port.ts';
import { runThrough, type Steps } from '../../services/shards/steps.ts';
import { isThorough } from '../support/effort.ts';
import { naiveMatches } from '../support/naive-filter.ts';
import { randomFrom } from '../support/random.ts';
import { seed } from '../support/seed.ts';
import {
  fetchFrom,
  itemsOf,
  Model,
  queryIn,
  queryWith,
  readIn,
  settle,
  specWith,
  stageIn,
  type TestRecord,
  upsertOf,
  write,
} from '../support/shard-engine.ts';
import type { MakeEngine } from './engine-contract.ts';

const DIMENSIONS = 3;
const SPEC = specWith({ dimensions: DIMENSIONS, metric: 'euclidean' });
const ACTIONS = isThorough ? 10_000 : 500;
const HELD_MAX = 5;
/** Numbers of steps after which a commit comes between. */
const INTERRUPTED_AFTER = [1, 20, 90];
/** Kinds of reads that take steps. */
const READ_KINDS = 8;
const FILTERS = [null, { tag: 't1' }, { n: { $lt: 4 } }, { tag: { $ne: 't2' }, n: { $gte: 3 } }];
const LISTED = { after: null, prefix: null, limit: 1_000, includeValues: true, includeMetadata: true };
const PROVED = ['id-1', 'id-2', 'id-3', 'absent'];

/** A read that has begun. `check` compares its result with the state of its snapshot. */
interface BegunRead {
  steps: Steps<unknown>;
  check: (result: unknown) => void;
}

interface Held {
  snapshot: ShardSnapshot;
  /** The records when the snapshot was taken. */
  model: Model;
  proofs: unknown[];
  reads: BegunRead[];
}

const begun = <T>(steps: Steps<T>, check: (result: T) => void): BegunRead => ({
  steps,
  check: check as BegunRead['check'],
});
const byId = (a: { id: string }, b: { id: string }): number => Buffer.compare(Buffer.from(a.id), Buffer.from(b.id));
const matching = ({ records }: Model, filter: Record<string, unknown> | null) =>
  [...records].filter(([, { metadata }]) => filter === null || naiveMatches(filter, metadata));

function recordsOf(items: { id: string; values?: Float32Array; metadata?: string }[]): [string, TestRecord][] {
  return items
    .toSorted(byId)
    .map(({ id, values, metadata }) => [id, { values: [...values!], metadata: JSON.parse(metadata!) }]);
}

function sorted(records: [string, TestRecord][]): [string, TestRecord][] {
  return records.toSorted(([a], [b]) => byId({ id: a }, { id: b }));
}

function randomRead({ snapshot, model, proofs }: Held, random: () => number, kind?: number): BegunRead {
  const below = (n: number) => Math.floor(random() * n);
  const filter = FILTERS[below(FILTERS.length)]!;
  const vector = Array.from({ length: DIMENSIONS }, () => random());
  const query = queryWith(vector, { topK: [3, 1_000][below(2)], filter, includeValues: true, includeMetadata: true });
  const scope = { filter: query.filter };
  const ids = [...PROVED, ...[...model.records.keys()].slice(0, 20)];
  const found = matching(model, filter);
  switch (kind ?? below(READ_KINDS)) {
    case 0:
      return begun(snapshot.query({ ...query, exact: true }), (result) => {
        expect(itemsOf(result).map(({ id }) => id)).toEqual(model.query(query).map(({ id }) => id));
      });
    case 1:
      return begun(snapshot.query(query), (result) => {
        const items = itemsOf(result);
        expect(items).toHaveLength(Math.min(query.topK, found.length));
        for (const [id, record] of recordsOf(items)) expect([id, record]).toEqual([id, model.records.get(id)]);
      });
    case 2:
      return begun(snapshot.list({ ...LISTED, ...scope }), (result) => {
        const items = itemsOf(result);
        expect(items).toEqual(items.toSorted(byId));
        expect(recordsOf(items)).toEqual(sorted(found));
      });
    case 3:
      return begun(snapshot.fetch(ids), (result) => {
        const wanted = ids.flatMap((id) => (model.records.has(id) ? [id] : []));
        const items = itemsOf(result);
        expect(items.map(({ id }) => id)).toEqual(wanted);
        for (const [id, record] of recordsOf(items)) expect([id, record]).toEqual([id, model.records.get(id)]);
      });
    case 4:
      return begun(snapshot.count(scope), ({ count }) => expect(count).toBe(found.length));
    case 5:
      return begun(snapshot.facets('tag', scope), ({ counts }) => {
        const tags = found.map(([, { metadata }]) => metadata.tag);
        const wanted = new Map([...new Set(tags)].map((tag) => [tag, tags.filter((other) => other === tag).length]));
        expect(new Map(counts.entries)).toEqual(wanted);
      });
    case 6:
      return begun(snapshot.countNew(ids), (count) => {
        expect(count).toBe(ids.filter((id) => !model.records.has(id)).length);
      });
    default:
      return begun(provenIn(snapshot), (proven) => expect(proven).toEqual(proofs));
  }
}

function* provenIn(snapshot: ShardSnapshot): Steps<unknown[]> {
  const proven = [];
  for (const id of PROVED) {
    proven.push(yield* snapshot.prove(id));
    yield 'sending';
  }
  return proven;
}

/** Shards that are read and written, and what their snapshots must show. */
class Interleaving {
  readonly #random: () => number;
  readonly #shard: ShardWriter;
  /** Makes the entries that are replayed. */
  readonly #twin: ShardWriter;
  readonly #model = new Model(SPEC);
  readonly #held: Held[] = [];
  finished = 0;
  outlived = 0;

  constructor(make: MakeEngine, random: () => number) {
    this.#random = random;
    this.#shard = make({ index: 'always', stepNs: 1 }).create(SPEC);
    this.#twin = make().create(SPEC);
  }

  act(): void {
    const kind = this.#below(20);
    const held = this.#held[this.#below(Math.max(1, this.#held.length))];
    if (kind < 3) this.#write();
    else if (kind < 4) this.#stageAndAbort();
    else if (kind < 5) this.#shard.maintain(1);
    else if (kind < 6 && this.#held.length < HELD_MAX) this.#hold();
    else if (held === undefined) return;
    else if (kind < 7) this.#release(held);
    else if (kind < 9) held.reads.push(randomRead(held, this.#random));
    else this.#advance(held);
  }

  /**
   * Lets a write come after some steps of a read. Returns whether the read was still under way.
   */
  interrupt(kind: number, steps: number): boolean {
    this.#hold();
    const held = this.#held.at(-1)!;
    const read = randomRead(held, this.#random, kind);
    let next = read.steps.next();
    for (let step = 1; step < steps && !next.done; step++) next = read.steps.next();
    const isUnderWay = !next.done;
    this.#write();
    this.#shard.maintain(1);
    read.check(next.done ? next.value : runThrough(read.steps));
    this.#release(held);
    return isUnderWay;
  }

  end(): void {
    for (const held of [...this.#held]) this.#release(held);
    settle(this.#shard);
    expect(this.#shard.head).toEqual(this.#twin.head);
  }

  #below(n: number): number {
    return Math.floor(this.#random() * n);
  }

  #randomWrites(): ShardWrite[] {
    const ids = [...new Set(Array.from({ length: 1 + this.#below(60) }, () => `id-${this.#below(200)}`))];
    const records = ids.map((id): [string, TestRecord] => {
      const known = this.#model.records.get(id);
      // Some are rewritten as they were.
      if (known && this.#random() < 0.2) return [id, known];
      const values = Array.from({ length: DIMENSIONS }, () => Math.fround(this.#random()));
      return [id, { values, metadata: { tag: `t${this.#below(4)}`, n: this.#below(8) } }];
    });
    const deleted = Array.from({ length: this.#below(40) }, () => `id-${this.#below(200)}`);
    return [upsertOf(records, DIMENSIONS), { kind: 'delete', ids: [...new Set(deleted)] }];
  }

  #write(): void {
    const writes = this.#randomWrites();
    const entry = write(this.#twin, ...writes)!;
    if (this.#random() < 0.5) expect(this.#shard.replay({ kind: 'write', ...entry })).toBe(true);
    else expect(write(this.#shard, ...writes)?.head).toEqual(entry.head);
    for (const each of writes) this.#model.apply(each);
    for (const { snapshot } of this.#held) if (snapshot.head.seq < this.#shard.head.seq - 3) this.outlived++;
  }

  #stageAndAbort(): void {
    const steps = this.#shard.stage(this.#randomWrites());
    for (let step = this.#below(100); step > 0 && !steps.next().done; step--);
    for (const held of this.#held) this.#advance(held);
    if (this.#random() < 0.5) runThrough(steps);
    else steps.return(undefined as never);
    for (const held of this.#held) this.#advance(held);
    this.#shard.abort();
    expect(this.#shard.isStaged).toBe(false);
  }

  #hold(): void {
    const model = new Model(SPEC);
    for (const [id, record] of this.#model.records) model.records.set(id, record);
    const snapshot = this.#shard.snapshot();
    this.#held.push({ snapshot, model, proofs: runThrough(provenIn(snapshot)), reads: [] });
  }

  #release(held: Held): void {
    const [given, ...finishing] = held.reads;
    // A read may be given up.
    given?.steps.return(undefined);
    held.reads = finishing;
    while (held.reads.length > 0) this.#advance(held);
    const { snapshot, model } = held;
    expect(recordsOf(itemsOf(snapshot.scan()))).toEqual(sorted([...model.records]));
    expect([...snapshot.ids()].toSorted(byId).map(({ id }) => id)).toEqual(
      sorted([...model.records]).map(([id]) => id),
    );
    for (const { id, seq } of snapshot.ids()) {
      expect(seq).toBeLessThanOrEqual(snapshot.head.seq);
      expect(snapshot.leafOf(id)?.seq).toBe(seq);
    }
    snapshot.release();
    snapshot.release();
    this.#held.splice(this.#held.indexOf(held), 1);
  }

  #advance(held: Held): void {
    const read = held.reads[this.#below(Math.max(1, held.reads.length))];
    for (let step = this.#below(60); read && step >= 0; step--) {
      const { done, value } = read.steps.next();
      if (!done) continue;
      read.check(value);
      held.reads.splice(held.reads.indexOf(read), 1);
      this.finished++;
      return;
    }
  }
}

/** What snapshots and results show, and what they cost. */
export function snapshotsContract(make: MakeEngine): void {
  test('each shows its own state, whatever is staged, committed, replayed, indexed or moved meanwhile', () => {
    console.info(`snapshots: PROVEC_TEST_SEED=${seed}`);
    const run = new Interleaving(make, randomFrom(seed));
    for (let action = 0; action < ACTIONS; action++) run.act();
    run.end();
    expect(run.finished).toBeGreaterThan(ACTIONS / 50);
    expect(run.outlived).toBeGreaterThan(ACTIONS / 200);
  });

  test('a read finishes on the state it began with, wherever a commit comes between its steps', () => {
    const run = new Interleaving(make, randomFrom(seed));
    for (let action = 0; action < 20; action++) run.interrupt(0, 1);
    let interrupted = 0;
    for (let kind = 0; kind < READ_KINDS; kind++)
      for (const steps of INTERRUPTED_AFTER) if (run.interrupt(kind, steps)) interrupted++;
    run.end();
    expect(interrupted).toBeGreaterThan(READ_KINDS);
  });

  const records = (count: number, generation: number): ShardWrite =>
    upsertOf(
      Array.from({ length: count }, (_, i): [string, TestRecord] => [
        `id-${i}`,
        { values: [1, i, generation], metadata: { text: `${generation} `.repeat(100) } },
      ]),
      DIMENSIONS,
    );

  test.each(['a snapshot', 'results'])('what %s kept is given back with the release', (kept) => {
    const shard = make().create(SPEC);
    write(shard, records(1_500, 1));
    settle(shard);
    const before = shard.bytes;
    const ids = Array.from({ length: 1_500 }, (_, i) => `id-${i}`);
    const snapshot = shard.snapshot();
    const result = runThrough(snapshot.fetch(ids));
    if (kept === 'results') snapshot.release();
    else result.release();
    for (let generation = 2; generation < 6; generation++) {
      write(shard, records(1_500, generation));
      settle(shard);
    }
    // What later commits replaced in turn is not kept.
    expect(shard.bytes).toBeGreaterThan(1.5 * before);
    expect(shard.bytes).toBeLessThan(4 * before);
    const items = kept === 'results' ? itemsOf(result) : itemsOf(runThrough(snapshot.fetch(ids)));
    expect(items.map(({ metadata }) => metadata)).toEqual(ids.map(() => JSON.stringify({ text: '1 '.repeat(100) })));
    snapshot.release();
    settle(shard);
    expect(shard.bytes).toBeLessThan(1.5 * before);
    expect(fetchFrom(shard, ['id-7'])[0]?.values).toEqual(Float32Array.of(1, 7, 5));
  });

  test('a result shows what its snapshot showed, also after the release', () => {
    const shard = make({ index: 'always' }).create(SPEC);
    write(shard, records(500, 1));
    settle(shard);
    const query = queryWith([1, 2, 1], { topK: 500, includeValues: true, includeMetadata: true });
    const before = queryIn(shard, query);
    const result = readIn(shard, (snapshot) => snapshot.query(query));
    const all = shard.snapshot();
    const scanned = all.scan();
    all.release();
    write(shard, records(250, 2), { kind: 'delete', ids: Array.from({ length: 200 }, (_, i) => `id-${300 + i}`) });
    settle(shard);
    write(shard, records(250, 3));
    expect(itemsOf(result)).toEqual(before);
    expect(recordsOf(itemsOf(scanned))).toEqual(recordsOf(before));
  });

  test('one that is held and released without a commit between costs nothing', () => {
    const shard = make().create(SPEC);
    write(shard, records(500, 1));
    settle(shard);
    const before = shard.bytes;
    const snapshots = Array.from({ length: 1_000 }, () => shard.snapshot());
    expect(shard.bytes).toBe(before);
    for (const snapshot of snapshots) snapshot.release();
    expect(shard.bytes).toBe(before);
  });

  test('one that is released cannot be read', () => {
    const shard = make().create(SPEC);
    write(shard, records(5, 1));
    const snapshot = shard.snapshot();
    snapshot.release();
    expect(() => runThrough(snapshot.fetch(['id-1']))).toThrow('released');
    expect(() => runThrough(snapshot.query(queryWith([1, 1, 1])))).toThrow('released');
    expect(() => snapshot.scan()).toThrow('released');
  });

  test('while a group is staged, the newest shows the state before it', () => {
    const shard = make().create(SPEC);
    write(shard, records(5, 1));
    stageIn(shard, [records(9, 2), { kind: 'delete', ids: ['id-0'] }]);
    expect(fetchFrom(shard, ['id-0', 'id-1', 'id-8']).map(({ values }) => values[2])).toEqual([1, 1]);
    shard.commit();
    expect(fetchFrom(shard, ['id-0', 'id-1', 'id-8']).map(({ values }) => values[2])).toEqual([2, 2]);
  });
}
