/**
 * Seen in earlier systems: every collection is searched by cosine, whatever its metric.
 * `api/restart.test.ts` tests this after a restart.
 */
import { beforeAll, describe, expect, test } from '@jest/globals';
import { type SharedService, shareService } from '../support/shared-service.ts';

/** Each metric ranks these records differently for the query [1, 0]. */
const RECORDS = [
  { id: 'same direction, far', values: [6, 0.6], metadata: {} },
  { id: 'near, another direction', values: [1, 0.4], metadata: {} },
  { id: 'longest', values: [9, 9], metadata: {} },
  { id: 'exact direction, short', values: [0.1, 0], metadata: {} },
];
const ORDER = {
  cosine: ['exact direction, short', 'same direction, far', 'near, another direction', 'longest'],
  euclidean: ['near, another direction', 'exact direction, short', 'same direction, far', 'longest'],
  dot: ['longest', 'same direction, far', 'near, another direction', 'exact direction, short'],
};
const score = {
  cosine: ([x, y]: number[]) => x! / Math.hypot(x!, y!),
  euclidean: ([x, y]: number[]) => 1 / (1 + Math.hypot(x! - 1, y!)),
  dot: ([x]: number[]) => x!,
};

let service: SharedService;
beforeAll(async () => {
  service = await shareService();
});

describe.each(['cosine', 'euclidean', 'dot'] as const)('%s', (metric) => {
  type Found = { matches: { id: string; score: number; distance?: number }[] };
  const query = async () =>
    (await service.api<Found>('POST', `/collections/${metric}/query`, { vector: [1, 0] })).body.matches;

  test('ranks and scores by its own rule', async () => {
    await service.api('POST', '/collections', { name: metric, dimensions: 2, metric, shards: 2 });
    await service.api('POST', `/collections/${metric}/upsert`, { records: RECORDS });
    const matches = await query();
    expect(matches.map(({ id }) => id)).toEqual(ORDER[metric]);
    for (const match of matches) {
      const { values } = RECORDS.find(({ id }) => id === match.id)!;
      expect(match.score).toBeCloseTo(score[metric](values), 5);
      if (metric === 'euclidean') expect(match.distance).toBeCloseTo(Math.hypot(values[0]! - 1, values[1]!), 5);
      else expect(match.distance).toBeUndefined();
    }
  });
});

test('the default is cosine, and an unknown metric is refused', async () => {
  const { body } = await service.api('POST', '/collections', { name: 'default', dimensions: 2 });
  expect(body).toMatchObject({ collection: { metric: 'cosine' } });
  const refused = await service.api('POST', '/collections', { name: 'other', dimensions: 2, metric: 'manhattan' });
  expect(refused).toMatchObject({ status: 400, body: { code: 'INVALID_ARGUMENT', details: [{ path: 'metric' }] } });
});
