import { beforeAll, describe, expect, test } from '@jest/globals';
import { randomFrom } from '../support/random.ts';
import { seed } from '../support/seed.ts';
import { type SharedService, shareService } from '../support/shared-service.ts';

const DIMENSIONS = 24;
const COUNT = 300;

interface Match {
  id: string;
  score: number;
  distance?: number;
}

const random = randomFrom(seed);
const vector = () => Array.from({ length: DIMENSIONS }, () => Math.fround(4 * random() - 2));

const RECORDS = Array.from({ length: COUNT }, (_, at) => ({ id: `r${at}`, values: vector() }));
const dot = (a: number[], b: number[]) => a.reduce((sum, value, at) => sum + value * b[at], 0);
const distance = (a: number[], b: number[]) => Math.sqrt(a.reduce((sum, value, at) => sum + (value - b[at]) ** 2, 0));

/** Scores as the API contract defines them, in float64 over the float32 vectors. */
const SCORES: Record<string, (a: number[], b: number[]) => { score: number; distance?: number }> = {
  cosine: (a, b) => ({ score: dot(a, b) / (Math.sqrt(dot(a, a)) * Math.sqrt(dot(b, b))) }),
  dot: (a, b) => ({ score: dot(a, b) }),
  euclidean: (a, b) => ({ score: 1 / (1 + distance(a, b)), distance: distance(a, b) }),
};

let service: SharedService;
beforeAll(async () => {
  service = await shareService();
});

const cases = Object.keys(SCORES).flatMap((metric) =>
  [1, 8].flatMap((shards) => ['bf16', 'f32', 'f16', 'i8'].map((quantization) => ({ metric, shards, quantization }))),
);

describe.each(cases)('$metric, $shards shards, $quantization', (options) => {
  const name = `${options.metric}-${options.shards}-${options.quantization}`;
  const query = async (body: object) =>
    (await service.api<{ matches: Match[] }>('POST', `/collections/${name}/query`, body)).body.matches;

  beforeAll(async () => {
    await service.api('POST', '/collections', { name, dimensions: DIMENSIONS, ...options });
    await service.api('POST', `/collections/${name}/upsert`, { records: RECORDS });
  });

  test('scores are exact whatever the quantization, and higher is better', async () => {
    const asked = vector();
    const expected = RECORDS.map(({ id, values }) => ({ id, ...SCORES[options.metric](asked, values) })).sort(
      (a, b) => b.score - a.score,
    );
    const matches = await query({ vector: asked, topK: COUNT, includeMetadata: false });
    expect(matches).toEqual(
      expected.map((match) => ({
        id: match.id,
        score: expect.closeTo(match.score, 9),
        ...(match.distance === undefined ? {} : { distance: expect.closeTo(match.distance, 9) }),
      })),
    );
  });

  test('each record is nearest to itself, except under the dot product', async () => {
    const [match] = await query({ id: 'r0', topK: 1 });
    const best = RECORDS.map(({ id, values }) => ({
      id,
      score: SCORES[options.metric](RECORDS[0].values, values).score,
    })).sort((a, b) => b.score - a.score)[0];
    expect(match).toMatchObject({ id: best.id, score: expect.closeTo(best.score, 9) });
    if (options.metric === 'euclidean') expect(match).toMatchObject({ id: 'r0', score: 1, distance: 0 });
    if (options.metric !== 'cosine') return;
    expect(match).toMatchObject({ id: 'r0', score: 1 });
    for (const { id } of RECORDS.slice(0, 20))
      expect(await query({ id, scoreThreshold: 1 })).toMatchObject([{ id, score: 1 }]);
  });
});

describe.each([1, 8])('euclidean, %i shards', (shards) => {
  const name = `close-${shards}`;
  const query = async (body: object) => {
    const asked = { vector: [0, 0], includeMetadata: false, ...body };
    return (await service.api<{ matches: Match[] }>('POST', `/collections/${name}/query`, asked)).body.matches;
  };
  const far = Array.from({ length: 40 }, (_, at) => Math.fround(1e38 + at * 1e32));
  const close = Array.from({ length: 40 }, (_, at) => Math.fround(1e-20 * (at + 1)));
  // Ids in reverse order of distance, with two records at each distance.
  const idOf = (at: number, twin: number) => `${String(99 - at)}-${twin}`;
  const matchesOf = (distances: number[]) =>
    distances.flatMap((distance, at) =>
      [1, 2].map((twin) => ({ id: idOf(at, twin), score: 1 / (1 + distance), distance })),
    );

  beforeAll(async () => {
    await service.api('POST', '/collections', { name, dimensions: 2, metric: 'euclidean', shards });
  });

  test.each([
    ['tiny', close],
    ['huge', far],
  ])('%s distances with equal scores are in order, and ties are ordered by id', async (_, distances) => {
    const records = distances.flatMap((distance, at) => [
      { id: idOf(at, 1), values: [0, distance] },
      { id: idOf(at, 2), values: [distance, 0] },
    ]);
    await service.api('POST', `/collections/${name}/upsert`, { records });
    const expected = matchesOf(distances);
    for (const topK of [1, 7, 80]) expect(await query({ topK })).toEqual(expected.slice(0, topK));
    expect(await query({ topK: 7, consistency: 'eventual' })).toEqual(expected.slice(0, 7));
    const scoreThreshold = expected[25].score;
    const above = expected.filter(({ score }) => score >= scoreThreshold);
    expect(await query({ topK: 80, scoreThreshold })).toEqual(above);
    expect(await query({ topK: 7, scoreThreshold })).toEqual(above.slice(0, 7));
  });
});

describe('at the limits of float32', () => {
  const MAX = 3.4028234663852886e38;
  test.each([
    ['cosine', [MAX, MAX], [MAX, MAX], { score: 1 }],
    ['cosine', [2 ** -149, 0], [2 ** -149, 0], { score: 1 }],
    ['cosine', [1, 0], [-1, 0], { score: -1 }],
    ['dot', [MAX, 0], [MAX, 0], { score: MAX * MAX }],
    ['dot', [MAX, 0], [-MAX, 0], { score: -MAX * MAX }],
    ['dot', [0, 0], [1, 1], { score: 0 }],
    ['euclidean', [MAX, 0], [-MAX, 0], { distance: 2 * MAX, score: 1 / (1 + 2 * MAX) }],
    ['euclidean', [0, 0], [0, 0], { distance: 0, score: 1 }],
  ])('%s of %j and %j', async (metric, stored, asked, expected) => {
    const name = `edge-${metric}`;
    await service.api('POST', '/collections', { name, dimensions: 2, metric });
    await service.api('POST', `/collections/${name}/upsert`, { records: [{ id: 'edge', values: stored }] });
    const { status, body } = await service.api<{ matches: Match[] }>('POST', `/collections/${name}/query`, {
      vector: asked,
    });
    expect({ status, body }).toEqual({ status: 200, body: { matches: [{ id: 'edge', metadata: {}, ...expected }] } });
  });
});
