import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import {
  FairQueue,
  type Permit,
  type QueueBounds,
  type QueueRefusal,
} from '../../../../../services/gateway/overload/fair-queue.ts';
import { propertyRuns } from '../../../../support/effort.ts';

const BOUNDS: QueueBounds = {
  permits: 6,
  shareFactor: 2,
  permitsPerAccount: false,
  shrinks: false,
  waitingMax: 1_000,
  waitingPerAccountMax: 1_000,
  waitMaxMs: 1_000,
};

interface Request {
  account: string;
  width: number;
  state: 'waiting' | 'begun' | 'ended' | 'refused';
  permit: Permit | null;
  reason: string | null;
  leave(): void;
}

/** A queue on a fake clock and timers, with all requests that it received. */
class World {
  nowMs = 0;
  readonly requests: Request[] = [];
  /** Requests in the order in which they began. */
  readonly begun: Request[] = [];
  readonly refusals: QueueRefusal[] = [];
  /** Counts as reported to the observer. */
  taken = 0;
  waiting = 0;
  readonly pressure = { part: 1, came: () => undefined };
  readonly queue: FairQueue;
  readonly #timers = new Set<{ atMs: number; run(): void }>();

  constructor(bounds: Partial<QueueBounds> = {}) {
    this.queue = new FairQueue(
      { ...BOUNDS, ...bounds },
      {
        monotonicMs: () => this.nowMs,
        timers: {
          after: (ms, run) => {
            const timer = { atMs: this.nowMs + ms, run };
            this.#timers.add(timer);
            return () => void this.#timers.delete(timer);
          },
        },
        pressure: this.pressure,
        observer: {
          waiting: (count) => {
            this.waiting = count;
          },
          taken: (permits) => {
            this.taken = permits;
          },
          waited: () => undefined,
          refused: (reason) => void this.refusals.push(reason),
        },
      },
    );
  }

  get timers(): number {
    return this.#timers.size;
  }

  of(state: Request['state'], account?: string): Request[] {
    return this.requests.filter((each) => each.state === state && (account === undefined || each.account === account));
  }

  permitsOf(account?: string): number {
    return this.of('begun', account).reduce((total, { width }) => total + width, 0);
  }

  /** Adds a request, and resolves when everything has happened that does not need time to pass. */
  async come(account: string, width = 1, hasBegun = false): Promise<Request> {
    const request: Request = { account, width, state: 'waiting', permit: null, reason: null, leave: () => undefined };
    this.requests.push(request);
    const whenGone = (leave: () => void) => {
      request.leave = leave;
      return () => {
        request.leave = () => undefined;
      };
    };
    this.queue.enter({ account, width, hasBegun, whenGone }).then(
      (permit) => {
        request.permit = permit;
        request.state = 'begun';
        this.begun.push(request);
      },
      (error: Error) => {
        request.state = 'refused';
        request.reason = error.message;
      },
    );
    await settled();
    return request;
  }

  async end(request: Request): Promise<void> {
    request.state = 'ended';
    request.permit!.release();
    request.permit!.release();
    await settled();
  }

  async pass(ms: number): Promise<void> {
    this.nowMs += ms;
    for (const timer of [...this.#timers]) {
      if (timer.atMs > this.nowMs || !this.#timers.has(timer)) continue;
      this.#timers.delete(timer);
      timer.run();
    }
    await settled();
  }
}

const settled = () => new Promise((resolve) => setImmediate(resolve));

async function flood(world: World, account: string, count: number): Promise<void> {
  for (let at = 0; at < count; at++) await world.come(account);
}

describe('shares', () => {
  test('one account alone leaves a third of the permits, two leave a fifth, and so on', async () => {
    const world = new World({ permits: 60 });
    await flood(world, 'a', 100);
    expect(world.permitsOf('a')).toBe(40);
    await flood(world, 'b', 100);
    expect(world.taken).toBeLessThan(60);
    expect((await world.come('c')).state).toBe('begun');
  });

  test('with permits per account, no account waits for another', async () => {
    const world = new World({ permits: 2, permitsPerAccount: true });
    for (const account of ['a', 'b', 'c']) await flood(world, account, 3);
    for (const account of ['a', 'b', 'c']) expect(world.permitsOf(account)).toBe(2);
    await world.end(world.of('begun', 'b')[0]!);
    expect(world.permitsOf('b')).toBe(2);
    expect(world.of('waiting').map(({ account }) => account)).toEqual(['a', 'c']);
  });

  test('while the event loop is busy, an account that holds permits takes no more than its part', async () => {
    const world = new World({ permits: 60, shrinks: true });
    await flood(world, 'a', 100);
    world.pressure.part = 1 / 10;
    for (let at = 0; at < 34; at++) await world.end(world.of('begun', 'a')[0]!);
    expect(world.permitsOf('a')).toBe(6);
    await world.end(world.of('begun', 'a')[0]!);
    expect(world.permitsOf('a')).toBe(6);
    await flood(world, 'b', 10);
    expect(world.permitsOf('b')).toBe(6);
    expect((await world.come('c', 8)).state).toBe('begun');
    world.pressure.part = 1;
    world.queue.beginWaiting();
    await settled();
    expect(world.permitsOf('a')).toBeGreaterThan(20);
  });

  test('with an infinite factor one account may have all', async () => {
    const world = new World({ shareFactor: Number.POSITIVE_INFINITY });
    await flood(world, 'a', 10);
    expect(world.permitsOf('a')).toBe(6);
  });
});

describe('turns', () => {
  const one = { permits: 1 };

  test('a request in an empty queue begins before the next of a long one', async () => {
    const world = new World(one);
    await flood(world, 'big', 50);
    for (let round = 0; round < 10; round++) {
      const small = await world.come('small');
      await world.pass(20);
      await world.end(world.of('begun')[0]!);
      expect(small.state).toBe('begun');
      await world.pass(1);
      await world.end(small);
      expect(world.of('begun')[0]!.account).toBe('big');
    }
  });

  test('accounts that always wait get equal time, however long their requests take', async () => {
    const world = new World(one);
    const tookMs: Record<string, number> = { heavy: 100, light: 4, middle: 20 };
    const used: Record<string, number> = { heavy: 0, light: 0, middle: 0 };
    for (const account of Object.keys(tookMs)) await flood(world, account, 5);
    while (world.nowMs < 30_000) {
      const [request] = world.of('begun');
      const { account } = request!;
      // Within the limit, because requests that wait longer are refused.
      world.nowMs += tookMs[account]!;
      used[account]! += tookMs[account]!;
      await world.end(request!);
      await world.come(account);
    }
    for (const time of Object.values(used)) {
      expect(time).toBeGreaterThan(9_500);
      expect(time).toBeLessThan(10_500);
    }
  });

  test('requests that take no time also take turns', async () => {
    const world = new World(one);
    await flood(world, 'a', 40);
    await flood(world, 'b', 20);
    while (world.of('waiting', 'b').length > 0) await world.end(world.of('begun')[0]!);
    expect(world.of('ended', 'a').length).toBeLessThanOrEqual(22);
  });

  test('a request for many permits is not overtaken forever', async () => {
    const world = new World({ permits: 6, shareFactor: Number.POSITIVE_INFINITY });
    await flood(world, 'a', 30);
    const wide = await world.come('wide', 6);
    await world.pass(5);
    for (let ended = 0; wide.state === 'waiting'; ended++) {
      expect(ended).toBeLessThan(13);
      await world.end(world.of('begun')[0]!);
    }
    expect(world.taken).toBe(6);
  });

  test('more permits than exist count as all', async () => {
    const world = new World();
    const huge = await world.come('a', 1_000);
    expect([huge.state, world.taken]).toEqual(['begun', 6]);
    await world.end(huge);
    expect(world.taken).toBe(0);
  });
});

describe('refusals', () => {
  test('a full queue refuses at once, and says how long it takes', async () => {
    const world = new World({ permits: 1, waitingPerAccountMax: 2, waitMaxMs: 100_000 });
    await flood(world, 'a', 3);
    await world.pass(4_200);
    const refused = world.queue.enter({ account: 'a', width: 1, whenGone: () => () => undefined });
    await expect(refused).rejects.toMatchObject({ code: 'UNAVAILABLE', retryAfterSeconds: 5 });
    expect((await world.come('b')).state).toBe('waiting');
  });

  test('with all queues full, only an account with as many waiting requests is refused itself', async () => {
    const world = new World({ permits: 1, waitingMax: 4 });
    await flood(world, 'a', 5);
    expect((await world.come('b')).state).toBe('waiting');
    expect((await world.come('b')).state).toBe('waiting');
    expect(world.of('waiting', 'a')).toHaveLength(2);
    expect((await world.come('b')).state).toBe('refused');
    expect((await world.come('a')).state).toBe('refused');
    // The newest request of the longest line gave way, not the oldest.
    expect(world.requests.slice(0, 5).map(({ state }) => state)).toEqual([
      'begun',
      'waiting',
      'waiting',
      'refused',
      'refused',
    ]);
  });

  test('no request waits longer than allowed; a closed queue refuses all', async () => {
    const world = new World({ permits: 1, waitMaxMs: 1_000 });
    const first = await world.come('a');
    await world.come('a');
    await world.pass(600);
    await world.come('b');
    await world.pass(400);
    expect(world.requests.map(({ state }) => state)).toEqual(['begun', 'refused', 'waiting']);
    world.queue.close();
    await settled();
    expect((await world.come('c')).state).toBe('refused');
    expect(world.refusals).toEqual(['waited', 'stopping', 'stopping']);
    await world.end(first);
    expect([world.taken, world.waiting, world.timers]).toEqual([0, 0, 0]);
  });
});

test('a request that displaces another counts for its account, even if idle accounts are forgotten then', async () => {
  const world = new World({
    permits: 2,
    waitingMax: 6,
    waitingPerAccountMax: 2,
    shareFactor: Number.POSITIVE_INFINITY,
  });
  await world.come('holder');
  // The queue keeps accounts that have used more than others, up to a number.
  for (let at = 0; at < 4_092; at++) {
    const request = await world.come(`idle ${at}`);
    await world.pass(10);
    await world.end(request);
  }
  await world.come('holder');
  for (const account of ['a', 'b', 'c']) await flood(world, account, 2);
  expect((await world.come('late')).state).toBe('waiting');
  expect((await world.come('late')).state).toBe('refused');
});

test('a later part of a response is not refused, and takes no place of other requests', async () => {
  const world = new World({ permits: 1, waitingMax: 2, waitingPerAccountMax: 1, waitMaxMs: 1_000 });
  const first = await world.come('a');
  const parts = [await world.come('b', 1, true), await world.come('b', 1, true), await world.come('b', 1, true)];
  const others = [await world.come('b'), await world.come('a')];
  expect((await world.come('b')).state).toBe('refused');
  expect((await world.come('c')).state).toBe('refused');
  expect(world.waiting).toBe(5);
  await world.pass(2_000);
  expect(others.map(({ state }) => state)).toEqual(['refused', 'refused']);
  await world.come('b');
  world.queue.close();
  await settled();
  expect(world.waiting).toBe(3);
  for (const part of parts.slice(0, 2)) {
    await world.end(world.of('begun')[0]!);
    expect(part.state).toBe('begun');
  }
  parts[2]!.leave();
  await settled();
  expect([first.state, parts[2]!.state, world.waiting]).toEqual(['ended', 'refused', 0]);
});

type Step = { do: 'come' | 'end' | 'leave' | 'pass'; account: number; width: number; pick: number };

test('whatever happens: bounds hold, no permit stays idle, every account gets a turn, nothing is left over', async () => {
  const steps = fc.array(
    fc.record<Step>({
      do: fc.constantFrom('come', 'come', 'come', 'end', 'end', 'leave', 'pass'),
      account: fc.nat(4),
      width: fc.constantFrom(1, 1, 1, 2, 5),
      pick: fc.nat(1_000),
    }),
    { minLength: 20, maxLength: 120 },
  );
  await fc.assert(
    fc.asyncProperty(steps, fc.constantFrom(2, Number.POSITIVE_INFINITY), async (plan, shareFactor) => {
      const bounds = { permits: 5, shareFactor, waitingMax: 12, waitingPerAccountMax: 5, waitMaxMs: 100 };
      const world = new World(bounds);
      for (const step of plan) {
        const begun = world.of('begun');
        const waiting = world.of('waiting');
        if (step.do === 'come') await world.come(String(step.account), step.width);
        else if (step.do === 'end' && begun.length > 0) await world.end(begun[step.pick % begun.length]!);
        else if (step.do === 'leave' && waiting.length > 0) {
          waiting[step.pick % waiting.length]!.leave();
          await settled();
        } else if (step.do === 'pass') await world.pass(step.pick % 60);
        expect(world.taken).toBe(world.permitsOf());
        expect(world.taken).toBeLessThanOrEqual(bounds.permits);
        expect(world.waiting).toBe(world.of('waiting').length);
        expect(world.waiting).toBeLessThanOrEqual(bounds.waitingMax);
        expect(world.timers).toBe(world.waiting);
        for (const { account } of world.of('waiting')) {
          expect(world.of('waiting', account).length).toBeLessThanOrEqual(bounds.waitingPerAccountMax);
        }
        // A request for one permit, of an account that has none, waits only while no permit is free
        // or a wider request waits for several.
        const idle = world.of('waiting').some(({ account, width }) => width === 1 && world.permitsOf(account) === 0);
        const wide = world.of('waiting').some(({ width }) => width > 1);
        if (idle && !wide) expect(world.taken).toBe(bounds.permits);
      }
      for (let [next] = world.of('begun'); next; [next] = world.of('begun')) await world.end(next);
      expect([world.taken, world.waiting, world.timers]).toEqual([0, 0, 0]);
    }),
    { numRuns: propertyRuns(200) },
  );
});
