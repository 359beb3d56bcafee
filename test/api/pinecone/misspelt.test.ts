/** Misspelt names of Pinecone's fields. Ignoring them would change the meaning of a request. */
import { beforeAll, expect, test } from '@jest/globals';
import { LIMITS } from '../../../lib/limits.ts';
import { PINECONE_BODIES } from '../../../services/gateway/pinecone/bodies.ts';
import { bodySchemas } from '../../../services/gateway/pinecone/openapi/requests.ts';
import { type PineconeApi, pineconeApi } from '../../support/pinecone-api.ts';
import { type SharedService, shareService } from '../../support/shared-service.ts';

const INDEX = '/indexes/misspelt';
const VECTOR = { id: 'a', values: [1], metadata: { n: 1 } };
const BODIES: Readonly<Record<keyof typeof PINECONE_BODIES, [method: string, path: string, body: object]>> = {
  'pinecone/upsert': ['POST', `${INDEX}/vectors/upsert`, { vectors: [VECTOR], namespace: '' }],
  'pinecone/query': ['POST', `${INDEX}/query`, { topK: 1, vector: [1], filter: { n: 1 }, includeMetadata: true }],
  'pinecone/delete': ['POST', `${INDEX}/vectors/delete`, { ids: ['none'], namespace: '', deleteAll: false }],
  'pinecone/update': ['POST', `${INDEX}/vectors/update`, { filter: { n: 2 }, setMetadata: { n: 2 }, dryRun: true }],
  'pinecone/fetch': ['POST', `${INDEX}/vectors/fetch_by_metadata`, { filter: { n: 1 }, limit: 1, namespace: '' }],
  'pinecone/stats': ['POST', `${INDEX}/describe_index_stats`, { filter: {} }],
  'pinecone/namespace': ['POST', `${INDEX}/namespaces`, { name: '' }],
  'pinecone/create': [
    'POST',
    '/indexes',
    { name: 'other', dimension: 0, metric: 'cosine', deletion_protection: 'disabled' },
  ],
  'pinecone/configure': ['PATCH', INDEX, { deletion_protection: 'disabled', tags: {} }],
};
const MEMBERS = Object.entries(BODIES).flatMap(([kind, [method, path, body]]) =>
  Object.keys(body).map((member) => ({ kind, method, path, body, member })),
);

let service: SharedService;
let pinecone: PineconeApi;
beforeAll(async () => {
  service = await shareService();
  pinecone = pineconeApi(service.url, service.key);
  await pinecone('POST', '/indexes', { name: 'misspelt', dimension: 1, metric: 'dotproduct' });
  await pinecone('POST', `${INDEX}/vectors/upsert`, { vectors: [VECTOR] });
});

/**
 * Variants of a name: second and third letter swapped, one letter missing, one added, and two
 * replaced.
 */
function misspellings(name: string): string[] {
  const swapped = name[0]! + name[2]! + name[1]! + name.slice(3);
  const all = [
    swapped,
    name.slice(0, -1),
    `${name}x`,
    name.toUpperCase(),
    ...(name.length > 3 ? [`zz${name.slice(2)}`] : []),
  ];
  return all.filter((each) => each !== name);
}

test.each(MEMBERS)('$kind: a misspelt $member gets a 400 that names it', async ({ method, path, body, member }) => {
  const { [member]: value, ...rest } = body as Record<string, unknown>;
  for (const wrong of misspellings(member)) {
    const answer = await pinecone(method, path, { ...rest, [wrong]: value });
    expect([answer.status, answer.body.message]).toEqual([
      400,
      expect.stringMatching(`^${wrong} is not a field of this operation; did you mean ${member}\\?$`),
    ]);
  }
});

test.each(Object.entries(BODIES))(
  '%s: ignores unknown names that resemble no known one',
  async (kind, [method, path, body]) => {
    const more = { scan_depth: 1, somethingNew: { a: 1 }, x: null, [`n${'o'.repeat(200)}`]: 1 };
    const { status } = await pinecone(method, path, { ...body, ...more });
    expect(status).toBe((await pinecone(method, path, body)).status);
    const known = PINECONE_BODIES[kind as keyof typeof PINECONE_BODIES].members as readonly string[];
    const documented = Object.keys(bodySchemas(LIMITS)[kind as keyof typeof PINECONE_BODIES].properties as object);
    expect(known).toEqual(expect.arrayContaining(documented));
  },
);

test('the same holds for an upserted vector and a query parameter', async () => {
  const vectors = [VECTOR, { id: 'b', values: [1], metdata: { n: 1 } }];
  expect((await pinecone('POST', `${INDEX}/vectors/upsert`, { vectors })).body.message).toBe(
    'vectors[1].metdata is not a field of this operation; did you mean metadata?',
  );
  const { status, body } = await pinecone('GET', `${INDEX}/vectors/list?namspace=n`);
  expect([status, body.message]).toEqual([
    400,
    'namspace is not a query parameter of this operation; did you mean namespace?',
  ]);
  expect((await pinecone('GET', `${INDEX}/vectors/list?trace=1`)).status).toBe(200);
});

test('a request may have a thousand different unknown names, and 4,096 query parameters', async () => {
  const unknown = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, at) => [`another${at}`, at]));
  const upsert = (count: number) =>
    pinecone('POST', `${INDEX}/vectors/upsert`, { vectors: [VECTOR, { ...VECTOR, ...unknown(count) }] });
  expect((await upsert(1_000)).status).toBe(200);
  const { status, body } = await upsert(1_001);
  expect([status, body.message]).toEqual([
    400,
    'vectors[1] must be without more than 1,000 unknown fields, but is with more.',
  ]);
  const list = (count: number) => pinecone('GET', `${INDEX}/vectors/list?${'x&'.repeat(count - 1)}`);
  expect((await list(4_096)).status).toBe(200);
  const refused = await list(4_097);
  expect([refused.status, refused.body.message]).toEqual([
    400,
    'The query string must be of at most 4,096 parameters, but is longer.',
  ]);
});
