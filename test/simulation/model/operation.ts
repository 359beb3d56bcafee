import fc from 'fast-check';

export const DIMENSIONS = 3;

export interface ModelRecord {
  id: string;
  values: number[];
  metadata: Record<string, unknown>;
}

/** Fields to merge into metadata. */
export interface Merge {
  setMetadata?: Record<string, unknown>;
  unsetMetadata?: readonly string[];
}
export interface ModelUpdate extends Merge {
  id: string;
  values?: number[];
}

export interface ModelQuery {
  vector: number[];
  topK: number;
  group: number | null;
}

/**
 * One step of a model run. `list` requests the next page of the previous `list`, whatever happened
 * between them. `restart` and `kill` end the service with SIGTERM or SIGKILL and start it again.
 */
export type Operation =
  | OfNamespace
  | { kind: 'namespaces' }
  | { kind: 'export' }
  /** Points the alias to the collection or to another one, or deletes it. */
  | { kind: 'alias'; target: 'own' | 'other' | null }
  | { kind: 'verification' }
  | { kind: 'restart' }
  | { kind: 'kill' };
/** `byAlias`: addresses the collection by its alias, if the alias points to it. */
export type OfNamespace = { namespace: string; byAlias: boolean } & Work;

type Work =
  | { kind: 'upsert'; records: ModelRecord[] }
  | { kind: 'delete'; ids: string[] }
  | { kind: 'fetch'; ids: string[] }
  | ({ kind: 'query' } & ModelQuery)
  | { kind: 'queries'; queries: ModelQuery[] }
  | { kind: 'import'; records: ModelRecord[] }
  | { kind: 'update'; updates: ModelUpdate[] }
  | { kind: 'merge'; group: number; merge: Merge }
  | { kind: 'delete group'; group: number }
  | { kind: 'delete all' }
  | { kind: 'delete namespace' }
  | { kind: 'count'; group: number | null }
  | { kind: 'facets'; field: string; group: number | null }
  | { kind: 'list'; prefix: string | null; group: number | null; limit: number };

const STRANGE_IDS = ['__proto__', 'constructor', '../x', 'é', '日本', '😀', ' ', 'a/b', '"', '\\'];

const id = fc.oneof(
  { weight: 9, arbitrary: fc.nat(80).map((number) => `r${number}`) },
  { weight: 1, arbitrary: fc.constantFrom(...STRANGE_IDS) },
);
const value = fc.integer({ min: -50, max: 50 }).map((number) => number / 8);
const vector = fc
  .array(value, { minLength: DIMENSIONS, maxLength: DIMENSIONS })
  .filter((values) => values.some((entry) => entry !== 0));
const metadata = fc.record({
  group: fc.nat(3),
  note: fc.string({ maxLength: 8, unit: 'grapheme' }),
  deep: fc.constantFrom(null, { a: [1, 'x', {}] }),
});
const record = fc.record({ id, values: vector, metadata });

const merge: fc.Arbitrary<Merge> = fc.oneof(
  fc.record({ setMetadata: fc.record({ group: fc.nat(3), extra: fc.oneof(fc.nat(3), fc.constant(null)) }) }),
  fc.record({
    setMetadata: fc.record({ note: fc.constantFrom('', 'ü', '😀') }),
    unsetMetadata: fc.constant(['extra']),
  }),
  fc.record({ unsetMetadata: fc.constantFrom(['group'], ['deep', 'absent']) }),
);
const update: fc.Arbitrary<ModelUpdate> = fc
  .record({ id, merge, values: fc.option(vector, { nil: undefined }) })
  .map(({ id, merge, values }) => ({ id, ...merge, ...(values && { values }) }));
const group = fc.option(fc.nat(3), { nil: null });

const query: fc.Arbitrary<ModelQuery> = fc.record({ vector, topK: fc.integer({ min: 1, max: 100 }), group });

/** Mostly writes and reads. */
const work: fc.Arbitrary<Work> = fc.oneof(
  {
    weight: 300,
    arbitrary: fc.array(record, { minLength: 1, maxLength: 6 }).map((records): Work => ({ kind: 'upsert', records })),
  },
  {
    weight: 150,
    arbitrary: fc.array(id, { minLength: 1, maxLength: 4 }).map((ids): Work => ({ kind: 'delete', ids })),
  },
  {
    weight: 200,
    arbitrary: fc.array(id, { minLength: 1, maxLength: 6 }).map((ids): Work => ({ kind: 'fetch', ids })),
  },
  {
    weight: 350,
    arbitrary: query.map((each): Work => ({ kind: 'query', ...each })),
  },
  {
    weight: 60,
    arbitrary: fc.array(query, { minLength: 1, maxLength: 5 }).map((queries): Work => ({ kind: 'queries', queries })),
  },
  {
    weight: 60,
    arbitrary: fc.array(record, { minLength: 1, maxLength: 12 }).map((records): Work => ({ kind: 'import', records })),
  },
  {
    weight: 120,
    arbitrary: fc
      .uniqueArray(update, { minLength: 1, maxLength: 6, selector: (each) => each.id })
      .map((updates): Work => ({ kind: 'update', updates })),
  },
  {
    weight: 30,
    arbitrary: fc.record({ group: fc.nat(3), merge }).map((each): Work => ({ kind: 'merge', ...each })),
  },
  { weight: 20, arbitrary: fc.nat(3).map((group): Work => ({ kind: 'delete group', group })) },
  { weight: 2, arbitrary: fc.constant<Work>({ kind: 'delete all' }) },
  { weight: 6, arbitrary: fc.constant<Work>({ kind: 'delete namespace' }) },
  { weight: 60, arbitrary: group.map((group): Work => ({ kind: 'count', group })) },
  {
    weight: 60,
    arbitrary: fc
      .record({ field: fc.constantFrom('group', 'note', 'extra', 'deep.a', 'absent'), group })
      .map((each): Work => ({ kind: 'facets', ...each })),
  },
  {
    weight: 120,
    arbitrary: fc
      .record({ prefix: fc.constantFrom(null, null, 'r', 'r1', 'é'), group, limit: fc.integer({ min: 1, max: 20 }) })
      .map((each): Work => ({ kind: 'list', ...each })),
  },
);

/** Names that share a prefix, and names that need encoding. */
const namespace = fc.constantFrom('', '', '', 'a', 'a/ü b');

/** The service is stopped a few times in a thousand operations. */
export const operation: fc.Arbitrary<Operation> = fc.oneof(
  {
    weight: 1_400,
    arbitrary: fc
      .tuple(namespace, fc.boolean(), work)
      .map(([namespace, byAlias, each]) => ({ namespace, byAlias, ...each })),
  },
  { weight: 60, arbitrary: fc.constant<Operation>({ kind: 'namespaces' }) },
  { weight: 40, arbitrary: fc.constant<Operation>({ kind: 'export' }) },
  {
    weight: 40,
    arbitrary: fc
      .constantFrom<'own' | 'other' | null>('own', 'own', 'other', null)
      .map((target): Operation => ({ kind: 'alias', target })),
  },
  { weight: 15, arbitrary: fc.constant<Operation>({ kind: 'verification' }) },
  { weight: 1, arbitrary: fc.constant<Operation>({ kind: 'restart' }) },
  { weight: 2, arbitrary: fc.constant<Operation>({ kind: 'kill' }) },
);
