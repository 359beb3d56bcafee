import { beforeAll, describe, expect, test } from '@jest/globals';
import { rawRequest } from '../support/raw-request.ts';
import { type SharedService, shareService } from '../support/shared-service.ts';

let service: SharedService;
beforeAll(async () => {
  service = await shareService();
  await service.api('POST', '/collections', { name: 'articles', dimensions: 2 });
});

async function refusalOf(method: string, path: string, body: unknown): Promise<string> {
  const reply = await service.api<{ error: string }>(method, path, body);
  expect([400, 404]).toContain(reply.status);
  return reply.body.error;
}

const creating = (fields: object) => refusalOf('POST', '/collections', { name: 'other', dimensions: 2, ...fields });
const upserting = (values: unknown) =>
  refusalOf('POST', '/collections/articles/upsert', { records: [{ id: 'a', values }] });

describe('a refusal names the value, its place, and the probable intention', () => {
  test.each<[string, object, string]>([
    [
      'a metric that is misspelt',
      { metric: 'euclidian' },
      'metric must be one of cosine, euclidean, dot, but is "euclidian"; did you mean euclidean?',
    ],
    ['a metric by its other name', { metric: 'l2' }, '"l2"; did you mean euclidean?'],
    ["Pinecone's metric", { metric: 'dotproduct' }, '"dotproduct"; did you mean dot?'],
    ['a metric of another case', { metric: 'Cosine' }, '"Cosine"; did you mean cosine?'],
    ['a metric that resembles none', { metric: 'jaccard' }, 'euclidean, dot, but is "jaccard".'],
    ["numpy's name of a precision", { quantization: 'int8' }, '"int8"; did you mean i8?'],
    ['a number in quotes', { dimensions: '384' }, 'but is the string "384"; send it without quotes.'],
    ['an unknown field', { dimension: 2 }, 'did you mean dimensions?'],
  ])('%s', async (_, fields, said) => {
    expect(await creating(fields)).toContain(said);
  });

  test.each<[string, unknown, string]>([
    [
      'a Float32Array as JSON.stringify writes it',
      new Float32Array([1, 2]),
      'records[0].values must be an array of 2 numbers, but is an object with the keys 0, 1, and so on; JSON.stringify writes a Float32Array like that: send Array.from(vector).',
    ],
    [
      'NaN as JSON.stringify writes it',
      [1, Number.NaN],
      'values[1] must be a number, but is null; JSON.stringify writes',
    ],
    [
      'numbers in quotes',
      ['1', '2'],
      'values[0] must be a number, but is a string of 1 character; send numbers without',
    ],
    [
      'a printed list',
      '[1.0 2.0]',
      'values must be an array of 2 numbers, but is a printed list; send the list itself',
    ],
    ['a list in a list', [[1, 2]], 'values must be an array of 2 numbers, but is a list in a list; send the inner one'],
    ['a printed list that was cut short', '[1.0, ..., 2.0]', 'but is a printed list that was cut short ("...");'],
  ])('%s', async (_, values, said) => {
    expect(await upserting(values)).toContain(said);
  });

  test('NaN as Python prints it', async () => {
    const { text } = await rawRequest(
      service.url,
      'POST',
      '/api/v1/collections/articles/upsert',
      { authorization: `Bearer ${service.key}`, 'content-type': 'application/json' },
      '{"records":[{"id":"a","values":[1,NaN]}]}',
    );
    expect(JSON.parse(text)).toMatchObject({
      code: 'INVALID_JSON',
      error:
        'The body is not valid JSON: expected a finite number (JSON has no NaN) at records[0].values[1], column 35, but got NaN.',
      details: [{ path: 'records[0].values[1]', expected: 'a finite number (JSON has no NaN)', got: 'NaN' }],
    });
  });

  test.each([
    ['artciles', 'There is no collection named artciles; did you mean articles?'],
    ['something-else', 'There is no collection named something-else.'],
    ['not a name', 'There is no collection with that name.'],
  ])('the unknown collection %s', async (name, said) => {
    const path = `/collections/${encodeURIComponent(name)}/query`;
    expect(await refusalOf('POST', path, { vector: [1, 2] })).toBe(said);
  });

  test("no suggestion reveals another account's collections", async () => {
    const other = await shareService();
    const reply = await other.api<{ error: string }>('GET', '/collections/artciles', undefined);
    expect(reply.body.error).toBe('There is no collection named artciles.');
  });
});
