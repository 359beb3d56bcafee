import { setTimeout as delay } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { afterEach, expect, jest, test } from '@jest/globals';
import pino from 'pino';
import { AssertionFailed, ShardWorker, WorkerPool } from '../../../../../services/shards/worker/pool.ts';
import { specOf } from '../../../../support/shard-fixture.ts';
import { until } from '../../../../support/until.ts';

let pool: WorkerPool;
const faults: string[] = [];
const log = pino({ level: 'error' }, { write: (line: string) => void faults.push(line) });

afterEach(() => pool.end());

test('threads that end are replaced, and live ones are chosen meanwhile', async () => {
  pool = new WorkerPool(2, log);
  const [first, second] = [...pool.workers];
  // The lighter worker exits twice during its start, so its replacement waits.
  second!.load = 1;
  for (let time = 0; time < 2; time++) {
    const before = pool.workers[0]!;
    await before.end();
    if (time === 0) await until('it is replaced', () => pool.workers[0] !== before);
  }
  expect(pool.workers[0]!.isGone).toBe(true);
  expect(pool.leastLoaded()).toBe(second);
  await until('it is replaced again', () => !pool.workers[0]!.isGone);
  expect(pool.leastLoaded()).toBe(pool.workers[0]);
  expect(pool.workers[0]).not.toBe(first);
  expect(pool.workers[1]).toBe(second);
  expect(faults).toEqual([]);
});

test('a request that cannot be sent fails by itself, and a later end of the thread does not affect it', async () => {
  pool = new WorkerPool(1, log);
  const [worker] = pool.workers;
  await expect(worker!.request('close', { key: (() => 0) as never })).rejects.toThrow('could not be cloned');
  await worker!.end();
  await expect(worker!.request('close', { key: 'c.0' })).rejects.toThrow('has ended');
  expect(faults).toEqual([]);
});

test('a failed assertion is told from other errors, and the thread goes on', async () => {
  pool = new WorkerPool(1, log);
  const [worker] = pool.workers;
  const key = 'c.0';
  const spec = specOf(1, { of: 3 });
  await expect(worker!.request('create', { key, spec })).rejects.toBeInstanceOf(AssertionFailed);
  await expect(worker!.request('size', { key })).rejects.not.toBeInstanceOf(AssertionFailed);
  expect(faults).toEqual([]);
});

/**
 * A thread terminated while usearch loads ends the whole process about once in a hundred times
 * ("terminate called after throwing an instance of 'Napi::Error'"): too rarely to reproduce in a
 * test.
 */
test('a thread that is ended while it starts ends by itself, never terminated from outside', async () => {
  const terminate = jest.spyOn(Worker.prototype, 'terminate');
  const startedMs = performance.now();
  pool = new WorkerPool(1, log);
  await pool.workers[0]!.request('close', { key: 'c.0' });
  const startMs = performance.now() - startedMs;
  for (const share of [0, 0.5, 0.9]) {
    const worker = new ShardWorker(log);
    await delay(startMs * share);
    await worker.end();
    expect(worker.isGone).toBe(true);
  }
  await pool.end();
  expect(terminate).not.toHaveBeenCalled();
  expect(faults).toEqual([]);
});
