import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { AnswerPage, FetchedRecord, ShardMatch } from '../../../../../lib/shard/match.ts';
import type { ShardWrite } from '../../../../../services/shards/engine/port.ts';
import { propertyRuns } from '../../../../support/effort.ts';
import { Model, queryWith, specWith, type TestRecord, upsertOf } from '../../../../support/shard-engine.ts';
import { HostHarness } from './shard-host-harness.ts';

const SPEC = specWith({ collectionId: 'c', dimensions: 2 });
const EVERY = 1_000;

const IDS = 320;
/** Enough that some records are in the graph and some in its tail. */
const FIRST = 300;
const id = fc.nat(IDS - 1).map((i) => `r${i}`);
const record = fc.record({
  values: fc.tuple(fc.integer({ min: 1, max: 50 }), fc.integer({ min: -50, max: 50 })),
  metadata: fc.record(
    { n: fc.nat(9), tags: fc.array(fc.constantFrom('a', 'b', 'c'), { maxLength: 3 }), v: fc.nat() },
    { requiredKeys: ['v'] },
  ),
});
const write = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.array(fc.tuple(id, record), { minLength: 1, maxLength: 20 }).map((all) => upsertOf(all, 2)),
  },
  fc.array(id, { minLength: 1, maxLength: 20 }).map((ids): ShardWrite => ({ kind: 'delete', ids })),
);
const query = fc.record({
  filter: fc.constantFrom<(Record<string, unknown> | null)[]>(
    null,
    { n: { $gte: 3, $lt: 8 } },
    { tags: { $ne: 'a' } },
    { $or: [{ n: 2 }, { tags: 'b' }, { $not: { n: { $lt: 7 } } }] },
    { n: { $in: [1, 2, 3] }, tags: { $exists: true } },
  ),
  exact: fc.boolean(),
  topK: fc.constantFrom(3, EVERY),
  includeMetadata: fc.constant(true),
  includeValues: fc.constant(true),
});

type Step =
  | { do: 'write'; write: ShardWrite }
  | { do: 'query'; query: Parameters<typeof queryWith>[1]; vector: number[]; pageMaxBytes: number }
  | { do: 'abort' }
  | { do: 'turn'; times: number };
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ do: fc.constant('write' as const), write }) },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('query' as const),
      query,
      vector: fc.tuple(fc.integer({ min: 1, max: 9 }), fc.integer({ min: -9, max: 9 })),
      pageMaxBytes: fc.constantFrom(1, 2_000, Number.MAX_VALUE),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('abort' as const) }) },
  { weight: 6, arbitrary: fc.record({ do: fc.constant('turn' as const), times: fc.integer({ min: 1, max: 30 }) }) },
);

interface Asked {
  id: number;
  query: ReturnType<typeof queryWith>;
  pageMaxBytes: number;
  /** Number of commits answered when it was sent, and when its first page arrived. */
  from: number;
  to: number | null;
  items: (ShardMatch | FetchedRecord)[];
}

/** One shard with requests as its owner sends them, and all states that it has had. */
class Course {
  readonly host: HostHarness;
  readonly #key;
  readonly #states: Model[] = [new Model(SPEC)];
  #write: { write: ShardWrite; stage: number; commit: number | null } | null = null;
  #asked: Asked[] = [];
  answers = 0;

  constructor(first: ShardWrite, columnsMinBytes: number) {
    this.host = new HostHarness({
      sliceMs: 0.5,
      firstSliceMinMs: 0.25,
      cpuMaxMs: Number.POSITIVE_INFINITY,
      waitMaxMs: Number.POSITIVE_INFINITY,
      engine: { graphMinRecords: 16, scanCostFactor: 1_000, columnsMinBytes },
    });
    this.#key = this.host.open('c');
    this.take({ do: 'write', write: first });
    this.take({ do: 'write', write: first });
    this.host.settle();
  }

  take(step: Step): void {
    if (step.do === 'turn') for (let i = 0; i < step.times; i++) this.host.turn();
    else if (step.do === 'query') {
      const query = queryWith(step.vector, step.query);
      const id = this.host.query(this.#key, query, step.pageMaxBytes);
      this.#asked.push({ id, query, pageMaxBytes: step.pageMaxBytes, from: this.#commits, to: null, items: [] });
    } else if (step.do === 'write') this.#writeNext(step.write);
    else if (this.#write?.commit === null && this.host.isAnswered(this.#write.stage)) {
      this.host.result(this.host.send('abort', { key: this.#key }));
      this.#write = null;
    }
    this.#follow();
  }

  finish(): void {
    if (this.#write) this.#writeNext(this.#write.write);
    for (this.host.settle(); this.#asked.length > 0 || this.#write?.commit; this.host.settle()) this.#follow();
  }

  get #commits(): number {
    return this.#states.length - 1;
  }

  /** Stages a group, or commits the staged one. */
  #writeNext(write: ShardWrite): void {
    if (this.#write === null) {
      this.#write = { write, stage: this.host.send('stage', { key: this.#key, writes: [write] }), commit: null };
    } else if (this.#write.commit === null && this.host.isAnswered(this.#write.stage)) {
      const { commit } = this.host.result<{ commit: unknown }>(this.#write.stage);
      if (commit === null) this.#write = null;
      else this.#write.commit = this.host.send('commit', { key: this.#key });
    }
  }

  /** Processes responses received since the last call. */
  #follow(): void {
    const committed = this.#write?.commit ?? null;
    const isCommitted = committed !== null && this.host.isAnswered(committed);
    const at = isCommitted ? this.host.answered.indexOf(committed) : -1;
    if (isCommitted) {
      const state = new Model(SPEC);
      for (const [id, content] of this.#states[this.#commits].records) state.records.set(id, content);
      state.apply(this.#write!.write);
      this.#states.push(state);
      this.#write = null;
    }
    this.#asked = this.#asked.filter((asked) => {
      if (!this.host.isAnswered(asked.id)) return true;
      const cameFirst = isCommitted && this.host.answered.indexOf(asked.id) < at;
      asked.to ??= this.#commits - (cameFirst ? 1 : 0);
      const { items, rest } = this.host.result<AnswerPage<ShardMatch>>(asked.id);
      asked.items.push(...items);
      if (rest === null) return this.#check(asked);
      asked.id = this.host.send('next', { key: this.#key, rest, pageMaxBytes: asked.pageMaxBytes });
      return true;
    });
  }

  /** The response must match one of the states that existed while it was computed. */
  #check({ query, from, to, items }: Asked): false {
    this.answers++;
    const reasons = this.#states.slice(from, to! + 1).map((state) => {
      const ranked = state.query({ ...query, topK: EVERY });
      const all = new Map(ranked.map(({ id }) => [id, state.records.get(id)!]));
      if (items.length !== Math.min(query.topK, all.size)) return `${items.length} of ${all.size}`;
      const isRanked = items.every((item, i) => Math.abs((item as ShardMatch).score - ranked[i].score) < 1e-9);
      if (query.exact && !isRanked) return 'not the best';
      const wrong = items.find(({ id, values, metadata }) => !isSame(all.get(id), values, metadata));
      return wrong ? `${wrong.id} is not as it was` : null;
    });
    expect({ from, to, reasons, isOfOneState: reasons.includes(null) }).toMatchObject({ isOfOneState: true });
    expect(new Set(items.map(({ id }) => id)).size).toBe(items.length);
    return false;
  }
}

function isSame(
  record: TestRecord | undefined,
  values: Float32Array | undefined,
  metadata: string | undefined,
): boolean {
  if (!record || !values || metadata === undefined) return false;
  const { n, tags, v } = JSON.parse(metadata);
  return JSON.stringify([[...values], { n, tags, v }]) === JSON.stringify([record.values, pick(record)]);
}

function pick({ metadata: { n, tags, v } }: TestRecord) {
  return { n, tags, v };
}

const RUNS = propertyRuns(40);

test('whatever interrupts queries, their answers are of one state that existed while they ran', () => {
  let answers = 0;
  fc.assert(
    fc.property(
      fc.array(record, { minLength: FIRST, maxLength: FIRST }),
      fc.array(step, { minLength: 20, maxLength: 100, size: 'max' }),
      fc.constantFrom(0, 32 * 2 ** 20),
      (first, steps, columnsMinBytes) => {
        const course = new Course(
          upsertOf(
            first.map((record, i) => [`r${i}`, record]),
            2,
          ),
          columnsMinBytes,
        );
        for (const step of steps) course.take(step);
        course.finish();
        answers += course.answers;
      },
    ),
    { numRuns: RUNS },
  );
  expect(answers / RUNS).toBeGreaterThan(5);
});
