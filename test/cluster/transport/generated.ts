import fc from 'fast-check';
import type { Actions } from '../../../contracts/actions/call.ts';

const id = fc.string({ unit: 'binary', maxLength: 40 });
const weirdKey = fc.constantFrom(
  '__proto__',
  'constructor',
  'hasOwnProperty',
  'toJSON',
  'prototype',
  '',
  'then',
  '\ud800',
);
const float32 = fc.float32Array({ maxLength: 64 });
const bytes32 = fc.uint8Array({ minLength: 32, maxLength: 32 });
const hex = fc.string({ unit: fc.constantFrom(...'0123456789abcdef'), minLength: 64, maxLength: 64 });
const natural = fc.maxSafeNat();
const iso = fc.date({ noInvalidDate: true }).map((date) => date.toISOString());
const jsonText = fc.json();
const nullable = <T>(of: fc.Arbitrary<T>) => fc.option(of, { nil: null });

/** JSON values as JSON.parse returns them, with own keys that collide with prototype members. */
const anyJson = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    fc.oneof(fc.string({ unit: 'binary' }), fc.double(), fc.boolean(), fc.constant(null), fc.constant('\udfff')),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.array(fc.tuple(fc.oneof(fc.string(), weirdKey), tie('value')), { maxLength: 4 }).map(fromOwnEntries),
  ),
})).value;

function fromOwnEntries(entries: [string, unknown][]): Record<string, unknown> {
  const object: Record<string, unknown> = {};
  for (const [key, value] of entries)
    Object.defineProperty(object, key, { value, enumerable: true, configurable: true, writable: true });
  return object;
}

const filter = fc.array(fc.tuple(fc.oneof(fc.string(), weirdKey), anyJson), { maxLength: 6 }).map(fromOwnEntries);
const node = fc.record({ type: fc.constantFrom('empty', 'leaf', 'inner'), hash: bytes32 });
const head = fc.record({
  type: fc.constantFrom('empty', 'leaf', 'inner'),
  hash: bytes32,
  seq: natural,
  count: natural,
});
const shard = fc.record({
  collectionId: fc.uuid(),
  accountId: fc.uuid(),
  index: fc.nat(255),
  of: fc.constantFrom(1, 2, 256),
  dimensions: fc.nat(8192),
  metric: fc.constantFrom('cosine', 'euclidean', 'dot'),
  quantization: fc.constantFrom('bf16', 'f32', 'f16', 'i8'),
});
const batch = fc.record({
  ids: fc.array(id, { maxLength: 8 }),
  dimensions: fc.nat(8192),
  vectors: float32,
  metadata: fc.array(jsonText, { maxLength: 8 }),
});
const match = fc.record(
  { id, score: fc.double({ noNaN: true }), distance: fc.double({ noNaN: true }), metadata: jsonText, values: float32 },
  { requiredKeys: ['id', 'score'] },
);
const terminal = nullable(fc.record({ key: hex, vecHash: hex, metaHash: hex }));
const named = { accountId: fc.uuid(), name: id };
const confirmed = fc.record({
  cut: fc.array(head, { maxLength: 4 }),
  version: natural,
  merkleRoot: hex,
  vectorCount: natural,
  signature: fc.string(),
  confirmedAt: iso,
});
const inFlight = fc.record({
  step: fc.constantFrom('create', 'update', 'close'),
  signature: fc.string(),
  wire: fc.base64String(),
  lastValidBlockHeight: fc.bigInt({ min: 0n }).map(String),
  cut: nullable(fc.array(head, { maxLength: 4 })),
});
const recomputed = fc.record({
  session: fc.uuid(),
  head,
  recorded: head,
  differences: fc.array(fc.record({ id, what: fc.constantFrom('values', 'metadata', 'missing') }), { maxLength: 4 }),
});

/** Values of the parameters and results of actions, by action and side. */
export const SHAPES = {
  'shards.upsert params': fc.record({ shard, batch, waitMs: natural }),
  'shards.upsert result': fc.record({ head, upserted: natural, deleted: natural, created: fc.integer() }),
  'shards.delete params': fc.record({ shard, ids: fc.array(id), waitMs: natural }),
  'shards.query params': fc.record({
    shard,
    query: fc.record({
      vector: float32,
      topK: fc.nat(10_000),
      filter: nullable(filter),
      includeValues: fc.boolean(),
      includeMetadata: fc.boolean(),
      scoreThreshold: nullable(fc.double()),
      exact: fc.boolean(),
    }),
  }),
  'shards.query result': fc.array(match, { maxLength: 12 }),
  'shards.fetch result': fc.array(fc.record({ id, values: float32, metadata: jsonText }), { maxLength: 8 }),
  'shards.prove result': fc.record({
    head,
    siblings: fc.array(node, { maxLength: 40 }),
    terminal,
    present: fc.boolean(),
  }),
  'shards.headAt result': nullable(head),
  'shards.recompute result': recomputed,
  'shards.stats result': fc.record({
    open: natural,
    bytes: natural,
    searchSeconds: fc.double({ min: 0, noNaN: true }),
  }),
  'collections.upsert params': fc.record(
    { ...named, body: fc.record({ records: batch, namespace: id }) },
    { requiredKeys: ['accountId', 'name', 'body'] },
  ),
  'collections.query params': fc.record(
    { ...named, body: fc.record({ vector: float32, id, topK: fc.nat(), filter, scoreThreshold: fc.double() }) },
    { requiredKeys: ['accountId', 'name'] },
  ),
  'collections.update params': fc.record({ ...named, deletionProtection: fc.boolean() }),
  'collections.proof result': fc.record({
    format: fc.constant('PV1'),
    id,
    present: fc.boolean(),
    merkleRoot: hex,
    version: natural,
    siblings: fc.array(fc.record({ type: fc.constantFrom('empty', 'leaf', 'inner'), hash: hex })),
    terminal,
    collectionId: fc.uuid(),
    ledgerAddress: nullable(fc.string()),
    ledgerTx: nullable(fc.string()),
  }),
  'anchoring.submit params': fc.record({
    collectionId: fc.uuid(),
    cut: fc.array(head, { maxLength: 8 }),
    waitMs: natural,
  }),
  'anchoring.state result': nullable(
    fc.record({
      collectionId: fc.uuid(),
      revision: natural,
      address: fc.string(),
      created: fc.boolean(),
      inFlight: nullable(inFlight),
      confirmed: nullable(confirmed),
      halted: nullable(fc.record({ reason: fc.string(), at: iso })),
      trusted: fc.option(fc.string()),
    }),
  ),
  'keys.create params': fc.record(
    {
      accountId: fc.uuid(),
      name: id,
      scopes: fc.array(fc.constantFrom('read', 'write', 'manage')),
      expires_at: nullable(iso),
    },
    { requiredKeys: ['accountId', 'name'] },
  ),
  'metering.reserveWrite result': fc.oneof(
    fc.record({ outcome: fc.constant('reserved'), id: nullable(fc.uuid()) }),
    fc.record({ outcome: fc.constant('count'), ticket: fc.uuid() }),
  ),
  'verification.verify result': fc.record(
    {
      verified: fc.boolean(),
      onChainRoot: nullable(hex),
      computedRoot: hex,
      differences: recomputed,
      anchoredVersion: nullable(natural),
    },
    { requiredKeys: ['verified', 'computedRoot'] },
  ),
  'any JSON': anyJson,
} satisfies Partial<Record<`${keyof Actions} ${'params' | 'result'}` | 'any JSON', fc.Arbitrary<unknown>>>;
