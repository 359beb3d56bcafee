import { beforeAll, describe, expect, test } from '@jest/globals';
import { refusal, refusalOf } from '../support/refusal.ts';
import { type SharedService, shareService } from '../support/shared-service.ts';
import { createTenant, operatorApi } from '../support/tenant.ts';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{3})?Z$/;

let service: SharedService;
beforeAll(async () => {
  service = await shareService();
});

const DEFAULTS = { metric: 'cosine', shards: 1, replicas: 0, quantization: 'bf16', deletionProtection: false };
const created = (sent: object) => ({
  collection: {
    id: expect.stringMatching(UUID),
    vector_count: 0,
    created_at: expect.stringMatching(TIME),
    ...DEFAULTS,
    ...sent,
  },
});

describe('what is accepted', () => {
  test('needs only name and dimensions; the answer has the defaults and the location', async () => {
    const answer = await service.api('POST', '/collections', { name: 'plain', dimensions: 3 });
    expect(answer).toMatchObject({ status: 201 });
    expect(answer.body).toEqual(created({ name: 'plain', dimensions: 3 }));
    expect(answer.headers.get('location')).toBe('/api/v1/collections/plain');
    expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8');
  });

  const options: Record<string, unknown>[] = [
    ...['a', '7', 'Z'.repeat(64), 'a.b_c-d', '0-..__--9', 'constructor', 'CON'].map((name) => ({ name })),
    ...[1, 8_192].map((dimensions) => ({ dimensions })),
    ...['cosine', 'euclidean', 'dot'].map((metric) => ({ metric })),
    ...[1, 2, 4, 8, 16, 32, 64, 128, 256].map((shards) => ({ shards })),
    ...[0, 1, 2, 3].map((replicas) => ({ replicas })),
    ...['bf16', 'f32', 'f16', 'i8'].map((quantization) => ({ quantization })),
    ...[true, false].map((deletionProtection) => ({ deletionProtection })),
  ];
  test.each(options.map((option, at) => [JSON.stringify(option).slice(0, 80), option, at] as const))(
    '%s',
    async (_, option, at) => {
      const request = { name: `option-${at}`, dimensions: 4, ...option };
      const { status, body } = await service.api('POST', '/collections', request);
      expect({ status, body }).toEqual({ status: 201, body: created(request) });
      const { body: again } = await service.api('GET', `/collections/${request.name}`);
      expect(again).toMatchObject(body);
    },
  );

  test('names are case-sensitive, and unique within an account', async () => {
    const other = await createTenant(service, 'free');
    for (const api of [service.api, other.api]) {
      expect(await api('POST', '/collections', { name: 'Shared', dimensions: 2 })).toMatchObject({ status: 201 });
      expect(await api('POST', '/collections', { name: 'shared', dimensions: 2 })).toMatchObject({ status: 201 });
    }
  });
});

test('a plan limits the shards of new collections, and existing ones keep theirs', async () => {
  const { account, api } = await createTenant(service, 'pro');
  const create = (name: string, shards: number) => api('POST', '/collections', { name, dimensions: 1, shards });
  expect((await create('wide', 16)).status).toBe(201);
  expect(await create('wider', 32)).toEqual(
    refusal(429, 'PLAN_LIMIT_REACHED', {
      error: expect.stringMatching(/^The plan "pro" allows 16 shards in a collection and this request asks for 32\./),
      pricingUrl: expect.any(String),
    }),
  );
  await operatorApi(service)('PATCH', `/admin/accounts/${account.id}`, { plan: 'free' });
  expect((await create('narrow', 4)).status).toBe(201);
  expect((await create('wide-again', 8)).body.error).toContain('allows 4 shards in a collection');
  const records = [{ id: 'a', values: [1] }];
  expect((await api('POST', '/collections/wide/upsert', { records })).status).toBe(200);
  expect((await api('GET', '/collections/wide')).body).toMatchObject({ collection: { shards: 16, vector_count: 1 } });
});

describe('refusals', () => {
  const name = 'refused';
  const dimensions = 4;
  test.each<[string, object, ...string[]]>([
    ['no name', { dimensions }, 'name'],
    ['no dimensions', { name }, 'dimensions'],
    ['nothing', {}, 'name', 'dimensions'],
    ['an empty name', { name: '', dimensions }, 'name'],
    ['65 characters', { name: 'a'.repeat(65), dimensions }, 'name'],
    ['a name that begins with a dot', { name: '.a', dimensions }, 'name'],
    ['a name that ends with a dash', { name: 'a-', dimensions }, 'name'],
    ['a blank in the name', { name: 'a b', dimensions }, 'name'],
    ['a slash in the name', { name: 'a/b', dimensions }, 'name'],
    ['a letter outside ASCII', { name: 'é', dimensions }, 'name'],
    ['a line feed after the name', { name: 'a\n', dimensions }, 'name'],
    ['a number for a name', { name: 7, dimensions }, 'name'],
    ['0 dimensions', { name, dimensions: 0 }, 'dimensions'],
    ['8,193 dimensions', { name, dimensions: 8_193 }, 'dimensions'],
    ['1.5 dimensions', { name, dimensions: 1.5 }, 'dimensions'],
    ['dimensions as text', { name, dimensions: '4' }, 'dimensions'],
    ['another metric', { name, dimensions, metric: 'Cosine' }, 'metric'],
    ['metric null', { name, dimensions, metric: null }, 'metric'],
    ['0 shards', { name, dimensions, shards: 0 }, 'shards'],
    ['3 shards', { name, dimensions, shards: 3 }, 'shards'],
    ['512 shards', { name, dimensions, shards: 512 }, 'shards'],
    ['-1 replicas', { name, dimensions, replicas: -1 }, 'replicas'],
    ['4 replicas', { name, dimensions, replicas: 4 }, 'replicas'],
    ['another quantization', { name, dimensions, quantization: 'i4' }, 'quantization'],
    ['protection as text', { name, dimensions, deletionProtection: 'yes' }, 'deletionProtection'],
    [
      'several at once',
      { name: '-', dimensions: 0, metric: 'l2', shards: 5 },
      'name',
      'dimensions',
      'metric',
      'shards',
    ],
  ])('%s', async (_, request, ...paths) => {
    expect(await service.api('POST', '/collections', request)).toEqual(refusalOf(...paths));
    expect(await service.api('GET', '/collections/refused')).toMatchObject({ status: 404 });
  });

  test('a name in use, whatever the other fields are', async () => {
    const request = { name: 'taken', dimensions: 3 };
    await service.api('POST', '/collections', request);
    expect(await service.api('POST', '/collections', request)).toEqual(refusal(409, 'COLLECTION_EXISTS'));
    const different = { name: 'taken', dimensions: 8, metric: 'dot' };
    expect(await service.api('POST', '/collections', different)).toEqual(refusal(409, 'COLLECTION_EXISTS'));
    expect((await service.api('GET', '/collections/taken')).body).toMatchObject({
      collection: { dimensions: 3, metric: 'cosine' },
    });
  });

  test('of many concurrent requests for a name, all but one', async () => {
    const answers = await Promise.all(
      Array.from({ length: 16 }, () => service.api('POST', '/collections', { name: 'raced', dimensions: 3 })),
    );
    const statuses = answers.map(({ status }) => status).sort();
    expect(statuses).toEqual([201, ...Array(15).fill(409)]);
  });
});
