import { afterEach, expect, test } from '@jest/globals';
import { WorkerPool } from '../../services/shards/worker/pool.ts';
import { until } from '../support/until.ts';

let pool: WorkerPool;
const faults: Error[] = [];

afterEach(() => pool.terminate());

test('threads that end are replaced, and those that live are chosen meanwhile', async () => {
  pool = new WorkerPool(
    2,
    () => undefined,
    (error) => faults.push(error),
    () => undefined,
  );
  const [first, second] = [...pool.workers];
  // The lighter one ends, twice at its start: its next waits.
  second!.load = 1;
  for (let time = 0; time < 2; time++) {
    const before = pool.workers[0]!;
    await before.terminate();
    if (time === 0) await until('it is replaced', () => pool.workers[0] !== before);
  }
  expect(pool.workers[0]!.isGone).toBe(true);
  expect(pool.lightest()).toBe(second);
  await until('it is replaced again', () => !pool.workers[0]!.isGone);
  expect(pool.lightest()).toBe(pool.workers[0]);
  expect(pool.workers[0]).not.toBe(first);
  expect(pool.workers[1]).toBe(second);
  expect(faults).toEqual([]);
});

test('a request that cannot be sent fails by itself, and leaves nothing that a later end of the thread would meet', async () => {
  pool = new WorkerPool(
    1,
    () => undefined,
    (error) => faults.push(error),
    () => undefined,
  );
  const [worker] = pool.workers;
  await expect(worker!.request('close', { key: (() => 0) as never })).rejects.toThrow('could not be cloned');
  await worker!.terminate();
  await expect(worker!.request('close', { key: 'c.0' })).rejects.toThrow('has ended');
  expect(faults).toEqual([]);
});
