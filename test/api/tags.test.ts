/** Tags that users attach to their collections. */
import { beforeAll, expect, test } from '@jest/globals';
import { LIMITS } from '../../lib/limits.ts';
import { type SharedService, shareService } from '../support/shared-service.ts';

let service: SharedService;
beforeAll(async () => {
  service = await shareService();
});

type Described = { collection: { tags?: Record<string, string> } };
const tagsOf = async (name: string) =>
  (await service.api<Described>('GET', `/collections/${name}`)).body.collection.tags;
const patch = (name: string, body: object) => service.api('PATCH', `/collections/${name}`, body);
const create = (name: string, tags?: unknown) => service.api('POST', '/collections', { name, dimensions: 1, tags });

test('every read of a collection returns the tags with which it was created', async () => {
  const tags = { team: 'search', __proto: 'x', ключ: 'значение' };
  expect(await create('made', { ...tags, empty: '' })).toMatchObject({ status: 201, body: { collection: { tags } } });
  expect(await tagsOf('made')).toEqual(tags);
  const { body } = await service.api<{ collections: { name: string; tags?: object }[] }>('GET', '/collections');
  expect(body.collections.find(({ name }) => name === 'made')).toMatchObject({ tags });
  await create('bare');
  expect(await tagsOf('bare')).toBeUndefined();
});

test('tags are set one by one; an empty one is removed', async () => {
  await create('changed', { a: '1', b: '2' });
  expect(await patch('changed', { tags: { b: '', c: '3' }, deletionProtection: true })).toMatchObject({ status: 200 });
  expect(await tagsOf('changed')).toEqual({ a: '1', c: '3' });
  expect((await patch('changed', { deletionProtection: false })).status).toBe(200);
  expect(await tagsOf('changed')).toEqual({ a: '1', c: '3' });
  await Promise.all(Array.from({ length: 8 }, (_, at) => patch('changed', { tags: { [`t${at}`]: 'x' } })));
  expect(Object.keys((await tagsOf('changed'))!)).toHaveLength(10);
  await patch('changed', {
    tags: Object.fromEntries(Object.keys((await tagsOf('changed'))!).map((name) => [name, ''])),
  });
  expect(await tagsOf('changed')).toBeUndefined();
});

const many = (count: number, from = 0) =>
  Object.fromEntries(Array.from({ length: count }, (_, at) => [`t${from + at}`, 'x']));

test.each([
  [{ a: 1 }, 'tags.a'],
  [['a'], 'tags'],
  ['a', 'tags'],
  [null, 'tags'],
  [{ '': 'x' }, 'tags.'],
  [{ ['x'.repeat(LIMITS.tagNameMaxChars + 1)]: 'x' }, `tags.${'x'.repeat(64)}...`],
  [{ a: 'x'.repeat(LIMITS.tagValueMaxChars + 1) }, 'tags.a'],
  [{ a: '\ud800' }, 'tags.a'],
  [many(LIMITS.tagsMax + 1), 'tags'],
])('an invalid set of tags gets a 400 that names the field: %j', async (tags, path) => {
  const { status, body } = await create('wrong', tags);
  expect([status, body.details]).toMatchObject([400, [{ path }]]);
});

test('limits the tags of a collection', async () => {
  const longest = { ['x'.repeat(LIMITS.tagNameMaxChars)]: 'x'.repeat(LIMITS.tagValueMaxChars) };
  expect((await create('full', { ...many(LIMITS.tagsMax - 1), ...longest })).status).toBe(201);
  expect((await patch('full', { tags: { more: 'x' } })).status).toBe(400);
  expect((await patch('full', { tags: { t0: '', more: 'x' } })).status).toBe(200);
});
