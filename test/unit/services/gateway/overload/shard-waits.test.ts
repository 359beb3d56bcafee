import { expect, test } from '@jest/globals';
import { ProvecError } from '../../../../../lib/errors.ts';
import { shardUnavailableError } from '../../../../../lib/shard/shard-unavailable.ts';
import { ShardWaits, type Waiter } from '../../../../../services/gateway/overload/shard-waits.ts';
import { VirtualTime } from '../../../../simulation/ownership/virtual-time.ts';

const PER_ACCOUNT_MAX = 3;

/**
 * Waiting lines on virtual time, for shards that become ready when the test says so, or at once.
 */
function lines({ isReadyAtOnce = false } = {}) {
  const time = new VirtualTime();
  const world = {
    /** Calls of `collections.whenReady`. */
    asked: [] as {
      name: string;
      collectionId?: string;
      shards: number[];
      timeout: number;
      signal: AbortSignal;
      back(): void;
      fail(): void;
    }[],
    waiting: 0,
    refused: 0,
    /** Number of held permits. */
    permits: 0,
  };
  const away = new ShardWaits({
    caller: {
      call: (_action, params, options) =>
        new Promise((resolve, reject) => {
          const { name, collectionId, shards } = params as { name: string; collectionId?: string; shards: number[] };
          const fail = (): void => reject(new Error('not ready'));
          const { timeout, signal } = options as { timeout: number; signal: AbortSignal };
          time.after(timeout, fail);
          if (isReadyAtOnce) resolve(null);
          world.asked.push({ name, collectionId, shards, timeout, signal, back: () => resolve(null), fail });
        }),
    },
    timers: time,
    monotonicMs: () => time.nowMs,
    observer: {
      waiting: (count) => {
        world.waiting = count;
      },
      refused: () => void world.refused++,
    },
    perAccountMax: PER_ACCOUNT_MAX,
  });
  /** A request that has a permit and a connected client. */
  const request = (collection = 'notes', account = 'a', forMs = 60_000) => {
    world.permits++;
    let hasPermit = true;
    let leaveNow = (): void => undefined;
    const waiter: Waiter = {
      account,
      collection,
      deadlineMs: time.nowMs + forMs,
      whenGone(leave) {
        leaveNow = leave;
        return () => undefined;
      },
      leave() {
        if (hasPermit) world.permits--;
        hasPermit = false;
      },
      async enter() {
        if (!hasPermit) world.permits++;
        hasPermit = true;
      },
    };
    return { waiter, hangUp: () => leaveNow() };
  };
  return { time, world, away, request };
}

/**
 * An attempt that finds a shard unavailable `times` times and then succeeds; records the remaining
 * time of each call.
 */
function meeting(times: number, shard = 3) {
  const attempts: (number | null)[] = [];
  const attempt = async (leftMs: number | null): Promise<string> => {
    attempts.push(leftMs);
    if (attempts.length <= times) throw shardUnavailableError(shard, 'has no holder yet');
    return 'done';
  };
  return { attempts, attempt };
}

test('an ordinary request is not affected', async () => {
  const { away, request, world } = lines();
  const { attempt, attempts } = meeting(0);
  expect(await away.run(request().waiter, true, attempt)).toBe('done');
  expect([attempts, world.asked, world.permits]).toEqual([[null], [], 1]);
});

test('a request that waits for a shard holds no permit, and takes one again when the shard is back', async () => {
  const { away, request, world, time } = lines();
  const { attempt, attempts } = meeting(1);
  const answer = away.run(request().waiter, true, attempt);
  await time.run(20_000);
  expect([world.permits, world.waiting]).toEqual([0, 1]);
  expect(world.asked).toMatchObject([{ name: 'notes', shards: [3] }]);
  world.asked[0]!.back();
  expect(await answer).toBe('done');
  expect([world.permits, world.waiting]).toEqual([1, 0]);
  expect(attempts).toEqual([null, 40_000]);
});

test('a shard that is announced but not back is retried at growing intervals', async () => {
  const { away, request, time } = lines({ isReadyAtOnce: true });
  const { attempt, attempts } = meeting(Number.POSITIVE_INFINITY);
  const answer = away.run(request('notes', 'a', 10_000).waiter, true, attempt);
  answer.catch(() => undefined);
  await time.run(10_000);
  await expect(answer).rejects.toMatchObject({ code: 'SHARD_UNAVAILABLE' });
  // At once, after 20, 40, 80, 160 and 320 ms, then every half second.
  expect(attempts.slice(1, 9).map((leftMs) => 10_000 - leftMs!)).toEqual([0, 20, 60, 140, 300, 620, 1_120, 1_620]);
});

test('requests that wait for one shard share its question; a query of its collection joins them without an attempt, requests for some shards do not', async () => {
  const { away, request, world, time } = lines();
  const [first, second, query, fetch] = [meeting(1), meeting(1), meeting(0), meeting(0)];
  const waiting = [first, second].map(({ attempt }) => away.run(request().waiter, true, attempt));
  await time.run(100);
  waiting.push(away.run(request().waiter, true, query.attempt));
  expect(await away.run(request().waiter, false, fetch.attempt)).toBe('done');
  expect(await away.run(request('other').waiter, true, meeting(0).attempt)).toBe('done');
  await time.run(200);
  expect([query.attempts, world.asked.length, world.waiting]).toEqual([[], 1, 3]);
  world.asked[0]!.back();
  expect(await Promise.all(waiting)).toEqual(['done', 'done', 'done']);
});

test('a request waits for its own collection, whichever has the name meanwhile', async () => {
  const { away, request, world, time } = lines();
  const answers = ['old', 'new'].map((collectionId) =>
    away.run({ ...request().waiter, collectionId }, true, meeting(1).attempt),
  );
  await time.run(100);
  expect(world.asked).toMatchObject([{ collectionId: 'old' }, { collectionId: 'new' }]);
  for (const { back } of world.asked) back();
  expect(await Promise.all(answers)).toEqual(['done', 'done']);
});

test('a shard that is not back in time fails the request with the reason why it was away', async () => {
  const { away, request, world, time } = lines();
  const { attempt, attempts } = meeting(1);
  const answer = away.run(request('notes', 'a', 5_000).waiter, true, attempt);
  answer.catch(() => undefined);
  await time.run(5_000);
  await expect(answer).rejects.toMatchObject({
    code: 'SHARD_UNAVAILABLE',
    message: 'Shard 3 of the collection has no holder yet; try again.',
  });
  expect([attempts.length, world.waiting, world.permits]).toEqual([1, 0, 0]);
});

test('a permit that comes too late makes no attempt, and answers that the shard was away', async () => {
  const { away, request, world, time } = lines();
  const { waiter } = request('notes', 'a', 10_000);
  const { attempt, attempts } = meeting(1);
  const answer = away.run({ ...waiter, enter: () => time.delay(8_000) }, true, attempt);
  answer.catch(() => undefined);
  await time.run(5_000);
  world.asked[0]!.back();
  await time.run(20_000);
  await expect(answer).rejects.toMatchObject({ code: 'SHARD_UNAVAILABLE' });
  expect(attempts).toEqual([null]);
});

test('no more requests of an account wait than allowed, and others still do', async () => {
  const { away, request, world, time } = lines();
  const waiting = Array.from({ length: PER_ACCOUNT_MAX }, () => away.run(request().waiter, true, meeting(1).attempt));
  await time.run(100);
  await expect(away.run(request().waiter, true, meeting(1).attempt)).rejects.toMatchObject({
    code: 'SHARD_UNAVAILABLE',
  });
  expect(world.refused).toBe(1);
  waiting.push(away.run(request('notes', 'b').waiter, true, meeting(1).attempt));
  await time.run(200);
  expect(world.waiting).toBe(PER_ACCOUNT_MAX + 1);
  for (const { back } of world.asked) back();
  expect(await Promise.all(waiting)).toHaveLength(PER_ACCOUNT_MAX + 1);
});

test('a client that disconnects waits no longer', async () => {
  const { away, request, world, time } = lines();
  const { waiter, hangUp } = request();
  const answer = away.run(waiter, true, meeting(1).attempt);
  answer.catch(() => undefined);
  await time.run(100);
  hangUp();
  await expect(answer).rejects.toMatchObject({ name: 'ClientGoneError' });
  expect(world.waiting).toBe(0);
});

test('the question ends with the last request that waits for it', async () => {
  const { away, request, world, time } = lines();
  const clients = [request(), request()];
  const answers = clients.map(({ waiter }) => away.run(waiter, true, meeting(1).attempt));
  for (const answer of answers) answer.catch(() => undefined);
  await time.run(100);
  clients[0]!.hangUp();
  await time.run(100);
  expect(world.asked.map(({ signal }) => signal.aborted)).toEqual([false]);
  clients[1]!.hangUp();
  await Promise.allSettled(answers);
  const next = away.run(request().waiter, true, meeting(1).attempt);
  await time.run(100);
  expect(world.asked.map(({ signal }) => signal.aborted)).toEqual([true, false]);
  world.asked[1]!.back();
  expect(await next).toBe('done');
});

test('other errors, and shards not worth waiting for, are the answer', async () => {
  const { away, request } = lines();
  const fail = (error: Error) => away.run(request().waiter, true, () => Promise.reject(error));
  await expect(fail(new ProvecError('UNAVAILABLE', 'overloaded'))).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  await expect(fail(new ProvecError('SHARD_UNAVAILABLE', 'at once'))).rejects.toMatchObject({ message: 'at once' });
});

test('requests that wait when the service stops are refused, and so are later ones', async () => {
  const { away, request, time } = lines();
  const waiting = away.run(request().waiter, true, meeting(1).attempt);
  waiting.catch(() => undefined);
  await time.run(100);
  away.close();
  await expect(waiting).rejects.toMatchObject({ code: 'SHARD_UNAVAILABLE' });
  await expect(away.run(request().waiter, true, meeting(1).attempt)).rejects.toMatchObject({
    code: 'SHARD_UNAVAILABLE',
  });
});
