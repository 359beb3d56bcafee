import { afterEach, expect, test } from '@jest/globals';
import { LIMITS } from '../../../../../lib/limits.ts';
import { BodyPool } from '../../../../../services/gateway/bodies/body-pool.ts';

const context = { wallMs: 0, limits: LIMITS, shape: { dimensions: 3, metric: 'cosine' as const } };
const request = { account: 'a', width: 1, whenGone: () => () => undefined };

const THREAD = new URL('../../../../../services/gateway/body-thread.ts', import.meta.url);
let turns = 0;
const pool = new BodyPool(10_000, THREAD, { workers: 1, heapMiB: 256 }, async () => {
  turns++;
  return { release: () => undefined };
});
afterEach(async () => {
  turns = 0;
  await pool.close();
});

test('slow bodies leave the main thread: large ones, and small ones with many escapes', async () => {
  const query = (filter: object) => new TextEncoder().encode(JSON.stringify({ vector: [1, 2, 3], filter }));
  const decode = (filter: object) => pool.decode('query', query(filter), context, request);
  await expect(decode({ tag: { $in: Array(300).fill('"a"') } })).resolves.toMatchObject({ filter: {} });
  expect(turns).toBe(0);
  await expect(decode({ tag: { $in: Array(600).fill('"') } })).resolves.toMatchObject({ filter: {} });
  expect(turns).toBe(0);
  await expect(decode({ tag: { $in: Array(1_001).fill('"') } })).resolves.toMatchObject({ filter: {} });
  expect(turns).toBe(1);
  await expect(decode({ tag: 'x'.repeat(10_000) })).resolves.toMatchObject({ filter: {} });
  expect(turns).toBe(2);
});
