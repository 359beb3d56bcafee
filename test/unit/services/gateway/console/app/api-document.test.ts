/** The API page's reading of the service's own documents. */
import { describe, expect, test } from '@jest/globals';
import { LIMITS } from '../../../../../../lib/limits.ts';
import {
  type ApiOperation,
  operationsOf,
  searchOperations,
  type WrittenDocument,
} from '../../../../../../services/gateway/console/app/pages/api/api-document.ts';
import { curlOf, readyRequest } from '../../../../../../services/gateway/console/app/pages/api/request-draft.ts';
import { schemaRows, typeOf } from '../../../../../../services/gateway/console/app/pages/api/schema-rows.ts';
import { openApiDocument } from '../../../../../../services/gateway/openapi/document.ts';
import { pineconeDocument } from '../../../../../../services/gateway/pinecone/openapi/document.ts';

const provec = openApiDocument({ limits: LIMITS, adminToken: 'token' }) as WrittenDocument;
const pinecone = pineconeDocument({ limits: LIMITS }) as WrittenDocument;
const operations = operationsOf(provec);
const operation = (id: string, of = operations): ApiOperation => of.find((one) => one.id === id)!;

test('operations have all that the page shows', () => {
  expect(operations.length).toBeGreaterThan(50);
  for (const { id, summary, tag, path, answers } of [...operations, ...operationsOf(pinecone)]) {
    expect([id, summary !== '', tag !== 'Other', path.startsWith('/'), answers.length > 0]).toEqual([
      id,
      true,
      true,
      true,
      true,
    ]);
  }
  expect(operation('queryVectors').parameters.map(({ name, in: place }) => [name, place])).toEqual([['name', 'path']]);
  expect(JSON.parse(operation('queryVectors').body!.example)).toHaveProperty('vector');
  expect(operation('queryVectors').access).toBe('key');
  expect(operation('listNodes').access).toBe('operator');
  expect(operation('livez').access).toBe('open');
  expect(operation('query_vectors', operationsOf(pinecone)).keyHeader).toBe('Api-Key');
});

test('only operations that read are sent without asking', () => {
  const reads = operations.filter(({ isChange, method }) => !isChange && method !== 'GET').map(({ id }) => id);
  expect(reads.sort()).toEqual([
    'beginVerification',
    'countRecords',
    'facetRecords',
    'fetchVectors',
    'listRecords',
    'queryMany',
    'queryVectors',
  ]);
  const others = operationsOf(pinecone).filter(({ isChange, method }) => !isChange && method !== 'GET');
  expect(others.map(({ path }) => path.split('/').at(-1)).sort()).toEqual(
    expect.arrayContaining(['fetch_by_metadata', 'query']),
  );
  for (const id of ['upsertVectors', 'deleteVectors', 'createKey', 'deleteCollection', 'importRecords'])
    expect([id, operation(id).isChange]).toEqual([id, true]);
});

describe('the search', () => {
  const first = (query: string) => searchOperations(operations, query)[0]?.id;
  test('finds by path, operation and description, the best first', () => {
    expect(first('queryVectors')).toBe('queryVectors');
    expect(first('put alias')).toBe('putAlias');
    expect(first('audit-links POST')).toBe('createAuditLink');
    expect(
      searchOperations(operations, 'acknowledged').length + searchOperations(operations, 'deleted').length,
    ).toBeGreaterThan(0);
    expect(searchOperations(operations, 'no-such-word')).toEqual([]);
    expect(searchOperations(operations, '  ')).toHaveLength(operations.length);
    const words = searchOperations(operations, 'anchors collection');
    expect(words.length).toBeGreaterThan(0);
    expect(words.length).toBeLessThan(operations.length);
  });
});

test('schemas become rows, and those that contain themselves end', () => {
  const rows = schemaRows(operation('queryVectors').body!.schema, provec.components);
  expect(rows.map(({ name }) => name)).toEqual(expect.arrayContaining(['vector', 'topK', 'filter', 'allowPartial']));
  expect(rows.filter(({ name }) => name.startsWith('filter'))).toHaveLength(1);
  expect(rows.find(({ name }) => name === 'topK')).toMatchObject({
    type: 'integer',
    meaning: expect.stringContaining('Default: `10`.'),
  });
  const done = operation('queryVectors').answers.find(({ status }) => status === '200')!;
  expect(schemaRows(done.schema!, provec.components).map(({ name }) => name)).toContain('matches[].id');
  const loop = { schemas: { A: { type: 'object', properties: { a: { $ref: '#/components/schemas/A' } } } } };
  expect(schemaRows({ $ref: '#/components/schemas/A' }, loop)).toHaveLength(1);
  expect(typeOf({ type: 'array', items: { type: ['string', 'null'] } }, {})).toBe('list of string or null');
  for (const document of [provec, pinecone])
    for (const { body } of operationsOf(document)) if (body !== null) schemaRows(body.schema, document.components);
});

describe('a request', () => {
  const list = operation('proveRecord');
  test('says what is missing, and escapes what is not', () => {
    expect(readyRequest(list, { values: {}, body: '' }).fault).toBe('Fill in name.');
    expect(readyRequest(list, { values: { name: '..', id: 'a' }, body: '' }).fault).toBe('Fill in name.');
    const { request } = readyRequest(list, { values: { name: "a/b'c", id: 'x&y=1' }, body: '' });
    expect(request!.target).toBe("/api/v1/collections/a%2Fb'c/proof?id=x%26y%3D1");
    expect(curlOf('http://h', request!, list)).toBe(
      [
        `curl -sS 'http://h/api/v1/collections/a%2Fb'\\''c/proof?id=x%26y%3D1'`,
        '  -H "Authorization: Bearer $PROVEC_KEY"',
      ].join(' \\\n'),
    );
  });

  test('has a body that is JSON, and the key as a variable', () => {
    const query = operation('query_vectors', operationsOf(pinecone));
    expect(readyRequest(query, { values: { name: 'n' }, body: '{' }).fault).toMatch(/^The body is not JSON yet/);
    const { request } = readyRequest(query, { values: { name: 'n' }, body: `{"id":"it's"}` });
    const curl = curlOf('http://h', request!, query);
    expect(curl).toContain('-H "Api-Key: $PROVEC_KEY"');
    expect(curl).toContain(`--data-binary '{"id":"it'\\''s"}'`);
    const remove = operation('deleteCollection');
    expect(curlOf('http://h', readyRequest(remove, { values: { name: 'n' }, body: '' }).request!, remove)).toContain(
      ' -X DELETE ',
    );
    expect(
      curlOf(
        'http://h',
        readyRequest(operation('listNodes'), { values: {}, body: '' }).request!,
        operation('listNodes'),
      ),
    ).toContain('$PROVEC_ADMIN_TOKEN');
  });
});
