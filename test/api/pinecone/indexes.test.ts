/** Creating, reading, changing and deleting indexes as Pinecone's clients do. */
import { beforeAll, expect, test } from '@jest/globals';
import { LIMITS } from '../../../lib/limits.ts';
import { type PineconeApi, pineconeApi } from '../../support/pinecone-api.ts';
import { type SharedService, shareService } from '../../support/shared-service.ts';

let service: SharedService;
let pinecone: PineconeApi;
beforeAll(async () => {
  service = await shareService();
  pinecone = pineconeApi(service.url, service.key);
});

const SPEC = { serverless: { cloud: 'aws', region: 'us-east-1' } };
const modelOf = (
  name: string,
  dimension: number,
  metric: string,
  rest: object = {},
  place: object = SPEC.serverless,
) => {
  const capacity = { mode: 'OnDemand', status: { state: 'Ready' } };
  return {
    name,
    host: `${service.url}/pinecone/indexes/${name}`,
    status: { ready: true, state: 'Ready' },
    deletion_protection: 'disabled',
    dimension,
    metric,
    vector_type: 'dense',
    spec: { serverless: { ...place, read_capacity: capacity } },
    deployment: { deployment_type: 'managed', ...place },
    schema: { fields: { _values: { type: 'dense_vector', dimension, metric } } },
    read_capacity: capacity,
    ...rest,
  };
};

test('creates an index in both request shapes, as a collection', async () => {
  const old = { name: 'old', dimension: 3, metric: 'dotproduct', vector_type: 'dense', spec: SPEC };
  expect(await pinecone('POST', '/indexes', old)).toMatchObject({ status: 201, body: modelOf('old', 3, 'dotproduct') });
  const values = { type: 'dense_vector', dimension: 2, metric: 'euclidean', description: null };
  const place = { cloud: 'gcp', region: 'europe-west4' };
  const deployment = { deployment_type: 'managed', ...place };
  const young = { name: 'young', schema: { fields: { _values: values } }, deployment, deletion_protection: null };
  expect((await pinecone('POST', '/indexes', young)).body).toEqual(modelOf('young', 2, 'euclidean', {}, place));
  const { body: unnamed } = await pinecone('POST', '/indexes', { ...young, name: undefined });
  expect(unnamed.name).toMatch(/^index-[0-9a-f]{8}$/);
  expect((await service.api('GET', '/collections/old')).body).toMatchObject({
    collection: { name: 'old', dimensions: 3, metric: 'dot' },
  });
  const { body: listed } = await pinecone<{ indexes: { name: string }[] }>('GET', '/indexes');
  expect(listed.indexes.map(({ name }) => name).sort()).toEqual([unnamed.name, 'old', 'young'].sort());
  expect((await pinecone('GET', '/indexes/old')).body).toEqual(modelOf('old', 3, 'dotproduct'));
  expect(await pinecone('POST', '/indexes', old)).toMatchObject({
    status: 409,
    body: {
      status: 409,
      code: 6,
      error: { code: 'ALREADY_EXISTS', message: 'A collection named old already exists.' },
    },
  });
});

test('returns cloud and region as given, from every route', async () => {
  const place = { cloud: 'azure', region: 'eastus2' };
  const tags = { team: 'search' };
  await pinecone('POST', '/indexes', { name: 'placed', dimension: 1, spec: { serverless: place }, tags });
  const model = modelOf('placed', 1, 'cosine', { tags }, place);
  expect((await pinecone('GET', '/indexes/placed')).body).toEqual(model);
  const { body: listed } = await pinecone<{ indexes: { name: string }[] }>('GET', '/indexes');
  expect(listed.indexes.find(({ name }) => name === 'placed')).toEqual(model);
  const bare = modelOf('placed', 1, 'cosine', {}, place);
  expect((await pinecone('PATCH', '/indexes/placed', { tags: { team: '' } })).body).toEqual(bare);
  expect((await pinecone('GET', '/indexes/placed')).body).toEqual(bare);
  const { body } = await service.api<{ collection: object }>('GET', '/collections/placed');
  expect(body.collection).toMatchObject({ place });
  expect(body.collection).not.toHaveProperty('tags');
});

test("an index without a given region is in Provec's", async () => {
  await service.api('POST', '/collections', { name: 'own', dimensions: 1 });
  await pinecone('POST', '/indexes', {
    name: 'half',
    dimension: 1,
    spec: { serverless: { cloud: 'aws', region: null } },
  });
  const here = { cloud: 'provec', region: 'self-hosted' };
  expect((await pinecone('GET', '/indexes/own')).body).toEqual(modelOf('own', 1, 'cosine', {}, here));
  expect((await pinecone('GET', '/indexes/half')).body).toEqual(
    modelOf('half', 1, 'cosine', {}, { ...here, cloud: 'aws' }),
  );
  const { body } = await service.api<{ collection: object }>('GET', '/collections/own');
  expect(body.collection).not.toHaveProperty('place');
});

test('cloud and region are not tags and do not count as such', async () => {
  const tags = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, at) => [`t${at}`, 'x']));
  const most = tags(LIMITS.tagsMax);
  const made = { name: 'full', dimension: 1, spec: SPEC, tags: most };
  expect((await pinecone('POST', '/indexes', made)).body).toMatchObject({ tags: most });
  expect((await pinecone('PATCH', '/indexes/full', { tags: { t0: 'y' } })).body).toMatchObject({ tags: { t0: 'y' } });
  const { status, body } = await pinecone('PATCH', '/indexes/full', { tags: { more: 'x' } });
  expect([status, body.message]).toEqual([400, expect.stringContaining(`but is ${LIMITS.tagsMax + 1}`)]);
});

test('the host of an alias stays the same when the alias is switched', async () => {
  for (const name of ['first', 'second']) {
    await pinecone('POST', '/indexes', { name, dimension: 1, metric: 'dotproduct' });
    await pinecone('POST', `/indexes/${name}/vectors/upsert`, { vectors: [{ id: name, values: [1] }] });
  }
  await service.api('PUT', '/aliases/current', { collection: 'first' });
  const { body } = await pinecone<{ name: string; host: string }>('GET', '/indexes/current');
  expect(body).toMatchObject({ name: 'first', host: `${service.url}/pinecone/indexes/current` });
  await service.api('PUT', '/aliases/current', { collection: 'second' });
  const headers = { 'api-key': service.key, 'content-type': 'application/json' };
  const answer = await fetch(`${body.host}/query`, { method: 'POST', headers, body: '{"vector":[1],"topK":1}' });
  expect(await answer.json()).toMatchObject({ matches: [{ id: 'second' }] });
});

test('the default metric is cosine', async () => {
  const { body } = await pinecone('POST', '/indexes', { name: 'plain', dimension: 1, spec: SPEC });
  expect(body).toEqual(modelOf('plain', 1, 'cosine'));
});

test('tags are set one by one, and an empty one is removed', async () => {
  await pinecone('POST', '/indexes', { name: 'tagged', dimension: 1, spec: SPEC, tags: { a: '1', b: '2', c: '' } });
  expect((await pinecone('GET', '/indexes/tagged')).body).toEqual(
    modelOf('tagged', 1, 'cosine', { tags: { a: '1', b: '2' } }),
  );
  expect(await pinecone('PATCH', '/indexes/tagged', { tags: { a: '', c: '3' } })).toMatchObject({
    status: 200,
    body: { tags: { b: '2', c: '3' } },
  });
  expect((await pinecone('PATCH', '/indexes/tagged', { tags: { b: '', c: '' } })).body).toEqual(
    modelOf('tagged', 1, 'cosine'),
  );
});

test('a protected index is not deleted, and another one is deleted at once', async () => {
  await pinecone('POST', '/indexes', { name: 'kept', dimension: 1, spec: SPEC, deletion_protection: 'enabled' });
  expect(await pinecone('DELETE', '/indexes/kept')).toMatchObject({
    status: 403,
    body: { error: { code: 'FORBIDDEN' }, message: expect.stringContaining('protected from deletion') },
  });
  expect((await pinecone('PATCH', '/indexes/kept', { deletion_protection: 'disabled' })).body).toEqual(
    modelOf('kept', 1, 'cosine'),
  );
  expect(await pinecone('DELETE', '/indexes/kept')).toMatchObject({ status: 202, body: null });
  expect(await pinecone('GET', '/indexes/kept')).toMatchObject({ status: 404, body: { code: 5 } });
});

test('a change of nothing gets 400', async () => {
  await pinecone('POST', '/indexes', { name: 'same', dimension: 1, spec: SPEC });
  const { status, body } = await pinecone('PATCH', '/indexes/same', { spec: SPEC });
  expect([status, body.message]).toEqual([
    400,
    'deletion_protection must be given (at least one of deletion_protection, tags), but is missing.',
  ]);
});

test.each([
  [{ dimension: 0 }, /^dimension must be a whole number/],
  [{ dimension: 1, metric: 'manhattan' }, /^metric must be one of cosine, dotproduct, euclidean, but is another word/],
  [{ dimension: 1, metric: 'dot' }, /^metric must be one of cosine, dotproduct, euclidean/],
  [{ dimension: 1, vector_type: 'sparse' }, /^vector_type must be "dense"/],
  [{ schema: { fields: { text: { type: 'string' } } } }, /^schema.fields must be one field/],
  [{ dimension: 1, deletion_protection: true }, /^deletion_protection must be "enabled"/],
  [{ dimension: 1, tags: { a: 1 } }, /^tags.a must be a string/],
  [{ dimension: 1, spec: { serverless: { cloud: 7 } } }, /^spec\.serverless\.cloud must be a string of 1 to 64/],
  [{ dimension: 1, spec: null, deployment: { region: 'x'.repeat(65) } }, /^deployment\.region must be a string/],
])('an invalid index gets a 400 that names the field: %j', async (fields, message) => {
  const { status, body } = await pinecone('POST', '/indexes', { name: 'wrong', spec: SPEC, ...fields });
  expect([status, body.message]).toEqual([400, expect.stringMatching(message)]);
});
