/**
 * A program that uses one version of Pinecone's client for Node, starting with an empty account:
 * `node node-scenario.ts <folder of the package> <major> <url> <key> <part>`. The part `write`
 * leaves 9,900 vectors; `read` finds them after a restart of the service; `end` removes everything.
 * `full` is for an account whose plan has no room for 200 vectors.
 */
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';

const [folder, version, url, apiKey, part] = process.argv.slice(2) as [string, string, string, string, string];
const MAJOR = Number(version);
const DIMENSION = 8;
const COUNT = 10_000;
const BATCH = 200;
/** Time limit for a client to report a full plan, including its own retries. */
const TOLD_MS = 20_000;
const NAME = `node-${MAJOR}`;

interface Match {
  id: string;
  score: number;
  values: number[];
  metadata?: { n: number; even: boolean };
}
/** Types differ between versions, so only the responses are asserted. */
type Client = Record<string, (...args: unknown[]) => Promise<unknown>>;

const { Pinecone } = createRequire(`${folder}/package.json`)('@pinecone-database/pinecone') as {
  Pinecone: new (options: object) => Client;
};
const pinecone = new Pinecone({ apiKey, controllerHostUrl: `${url}/pinecone` });
const idOf = (at: number) => `${'0'.repeat(28)}-${String(at).padStart(7, '0')}`;
const vectorOf = (at: number) => Array.from({ length: DIMENSION }, (_, i) => Math.sin(at * (i + 1)) + 0.01);
const recordOf = (at: number) => ({ id: idOf(at), values: vectorOf(at), metadata: { n: at, even: at % 2 === 0 } });
/** These methods took lists up to version 6, and take objects with a list since then. */
const listed = (name: string, list: unknown[]) => (MAJOR < 7 ? list : { [name]: list });

async function step(name: string, run: () => Promise<void>): Promise<void> {
  try {
    await run();
  } catch (error) {
    throw new Error(`${NAME}, ${part}, ${name}`, { cause: error });
  }
  console.log(name);
}

async function rejects(call: Promise<unknown>, name: string, message = /./): Promise<void> {
  await assert.rejects(call, (error: Error) => {
    assert.equal(error.name, name);
    assert.match(error.message, message);
    return true;
  });
}

async function indexOf(): Promise<Client> {
  const { host } = (await pinecone.describeIndex!(NAME)) as { host: string };
  const open = pinecone as unknown as { index(...args: unknown[]): Client };
  return MAJOR < 7 ? open.index(NAME, host) : open.index({ name: NAME, host });
}

const namespaceOf = (index: Client, name: string): Client =>
  (index as unknown as { namespace(name: string): Client }).namespace(name);

async function create(): Promise<void> {
  const spec = { serverless: { cloud: 'aws', region: 'us-east-1' } };
  const options = { name: NAME, dimension: DIMENSION, metric: 'cosine', spec, tags: { made: 'here', other: 'x' } };
  await pinecone.createIndex!({ ...options, waitUntilReady: true });
  await rejects(pinecone.createIndex!(options), 'PineconeConflictError', /already exists/);
  const model = (await pinecone.describeIndex!(NAME)) as { dimension: number; status: object; tags: object };
  assert.equal(model.dimension, DIMENSION);
  assert.deepEqual(model.status, { ready: true, state: 'Ready' });
  assert.deepEqual(model.tags, { made: 'here', other: 'x' });
  const { indexes } = (await pinecone.listIndexes!()) as { indexes: { name: string }[] };
  assert.ok(indexes.some(({ name }) => name === NAME));
}

async function configure(): Promise<void> {
  const change = async (options: object) =>
    MAJOR < 7 ? pinecone.configureIndex!(NAME, options) : pinecone.configureIndex!({ name: NAME, ...options });
  await change({ deletionProtection: 'enabled', tags: { other: '', more: 'y' } });
  const { tags } = (await pinecone.describeIndex!(NAME)) as { tags: object };
  assert.deepEqual(tags, { made: 'here', more: 'y' });
  await rejects(pinecone.deleteIndex!(NAME), 'PineconeBadRequestError', /protected from deletion/);
  await change({ deletionProtection: 'disabled' });
}

const batches = Array.from({ length: COUNT / BATCH }, (_, batch) =>
  Array.from({ length: BATCH }, (_, at) => recordOf(batch * BATCH + at)),
);

async function upsert(): Promise<void> {
  const index = await indexOf();
  await Promise.all(batches.map((batch) => index.upsert!(listed('records', batch))));
  await namespaceOf(index, 'second').upsert!(listed('records', [recordOf(1), recordOf(2)]));
  const stats = (await index.describeIndexStats!()) as { totalRecordCount: number; namespaces: Record<string, object> };
  assert.equal(stats.totalRecordCount, COUNT + 2);
  assert.deepEqual(stats.namespaces, { __default__: { recordCount: COUNT }, second: { recordCount: 2 } });
  const wrong = index.upsert!(listed('records', [{ id: 'x', values: [1] }]));
  await rejects(wrong, 'PineconeBadRequestError', /^vectors\[0\]\.values has 1 number/);
}

async function query(): Promise<void> {
  const index = await indexOf();
  const ask = async (options: object, target: Client = index) =>
    ((await target.query!({ topK: 5, ...options })) as { matches: Match[] }).matches;
  const [nearest] = await ask({ vector: vectorOf(77), includeMetadata: true, includeValues: true });
  assert.equal(nearest!.id, idOf(77));
  assert.ok(Math.abs(nearest!.score - 1) < 1e-6);
  assert.deepEqual(nearest!.metadata, { n: 77, even: false });
  assert.equal(nearest!.values.length, DIMENSION);
  const even = await ask({ id: idOf(77), filter: { even: { $eq: true }, n: { $lt: 5_000 } }, includeMetadata: true });
  assert.equal(even.length, 5);
  for (const { metadata } of even) assert.ok(metadata!.even && metadata!.n < 5_000);
  const zero = await ask({ vector: Array(DIMENSION).fill(0), filter: { n: { $in: [3, 4] } } });
  assert.deepEqual(
    zero.map(({ score }) => score),
    [0, 0],
  );
  assert.deepEqual(await ask({ vector: vectorOf(1) }, namespaceOf(index, 'unknown')), []);
}

async function fetchAndList(): Promise<void> {
  const index = await indexOf();
  const ids = Array.from({ length: 1_000 }, (_, at) => idOf(at));
  const { records } = (await index.fetch!(listed('ids', ids))) as { records: Record<string, Match> };
  assert.equal(Object.keys(records).length, 1_000);
  assert.deepEqual(records[idOf(7)]!.metadata, { n: 7, even: false });
  const found: string[] = [];
  for (let paginationToken: string | undefined; ; ) {
    const page = (await index.listPaginated!({ prefix: `${'0'.repeat(28)}-00001`, limit: 40, paginationToken })) as {
      vectors: { id: string }[];
      pagination?: { next: string };
    };
    found.push(...page.vectors.map(({ id }) => id));
    paginationToken = page.pagination?.next;
    if (paginationToken === undefined) break;
  }
  assert.deepEqual(found, ids.slice(100, 200));
  if (MAJOR < 7) return;
  const asked = { filter: { n: { $gte: 9_990 } }, limit: 100 };
  const matching = (await index.fetchByMetadata!(asked)) as { records: Record<string, Match> };
  assert.deepEqual(
    Object.keys(matching.records).sort(),
    Array.from({ length: 10 }, (_, at) => idOf(9_990 + at)),
  );
}

async function update(): Promise<void> {
  const index = await indexOf();
  await index.update!({ id: idOf(5), metadata: { n: 5, changed: true }, values: vectorOf(6) });
  const { records } = (await index.fetch!(listed('ids', [idOf(5)]))) as { records: Record<string, Match> };
  assert.deepEqual(records[idOf(5)]!.metadata, { n: 5, even: false, changed: true });
  if (MAJOR < 7) return;
  await index.update!({ filter: { n: { $lt: 3 } }, metadata: { first: true } });
  const { matches } = (await index.query!({ topK: 10, vector: vectorOf(1), filter: { first: true } })) as {
    matches: Match[];
  };
  assert.equal(matches.length, 3);
}

async function remove(): Promise<void> {
  const index = await indexOf();
  await index.deleteOne!(MAJOR < 7 ? idOf(0) : { id: idOf(0) });
  await index.deleteMany!(
    listed(
      'ids',
      Array.from({ length: 49 }, (_, at) => idOf(1 + at)),
    ),
  );
  const filter = { n: { $gte: 9_950 } };
  await index.deleteMany!(MAJOR < 7 ? filter : { filter });
  await rejects(namespaceOf(index, 'unknown').deleteAll!(), 'PineconeNotFoundError');
  const { totalRecordCount } = (await index.describeIndexStats!()) as { totalRecordCount: number };
  assert.equal(totalRecordCount, COUNT - 100 + 2);
}

async function namespaces(): Promise<void> {
  if (MAJOR < 6) return;
  const index = await indexOf();
  const { namespaces: found } = (await index.listNamespaces!()) as {
    namespaces: { name: string; recordCount: string }[];
  };
  assert.deepEqual(
    found.map(({ name }) => name),
    ['__default__', 'second'],
  );
  const { recordCount } = (await index.describeNamespace!('second')) as { recordCount: string };
  assert.equal(Number(recordCount), 2);
  await index.deleteNamespace!('second');
  await rejects(index.describeNamespace!('second'), 'PineconeNotFoundError');
}

async function refusals(): Promise<void> {
  const stranger = new Pinecone({ apiKey: 'pv_live_wrong', controllerHostUrl: `${url}/pinecone` });
  await rejects(stranger.listIndexes!(), 'PineconeAuthorizationError');
  await rejects(pinecone.describeIndex!('absent'), 'PineconeNotFoundError');
}

async function readAgain(): Promise<void> {
  const index = await indexOf();
  const { namespaces: found } = (await index.describeIndexStats!()) as {
    namespaces: Record<string, { recordCount: number }>;
  };
  assert.equal(found.__default__!.recordCount, COUNT - 100);
  const { matches } = (await index.query!({ topK: 1, vector: vectorOf(4_321) })) as { matches: Match[] };
  assert.equal(matches[0]!.id, idOf(4_321));
}

async function removeAll(): Promise<void> {
  const index = await indexOf();
  await index.deleteAll!();
  const { totalRecordCount } = (await index.describeIndexStats!()) as { totalRecordCount: number };
  assert.ok(totalRecordCount <= 2);
  await pinecone.deleteIndex!(NAME);
  await rejects(pinecone.describeIndex!(NAME), 'PineconeNotFoundError');
}

async function fillUp(): Promise<void> {
  const index = await indexOf();
  const started = performance.now();
  const upserts = batches.map((batch) => index.upsert!(listed('records', batch)));
  await Promise.all(upserts.map((upsert) => rejects(upsert, 'PineconeBadRequestError', /^The plan "free" allows/)));
  assert.ok(performance.now() - started < TOLD_MS);
}

const PARTS: Readonly<Record<string, Readonly<Record<string, () => Promise<void>>>>> = {
  write: { create, configure, upsert, query, 'fetch and list': fetchAndList, update, remove, namespaces, refusals },
  read: { 'read again': readAgain },
  end: { 'remove all': removeAll },
  full: { create, 'fill up': fillUp },
};
for (const [name, run] of Object.entries(PARTS[part]!)) await step(name, run);
