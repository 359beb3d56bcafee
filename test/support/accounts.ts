import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ProvecError } from '../../lib/errors.ts';
import type { PlanName } from '../../lib/plans.ts';
import { EMPTY_HEAD } from '../../lib/shard/head.ts';
import { shardKey } from '../../lib/shard/key.ts';
import type { Clock } from '../../lib/time/clock.ts';
import { monthOf } from '../../lib/time/month.ts';
import keysService from '../../services/keys/keys.service.ts';
import meteringService from '../../services/metering/metering.service.ts';
import type { Store } from '../../store/port.ts';
import { untilStoreIdle } from './store-watch.ts';
import { startWorld, type World } from './world.ts';

/** A clock that stands still until the test moves it. */
export class ManualClock implements Clock {
  #wallMs: number;
  #monotonicMs = 1_000_000;
  constructor(iso = '2026-11-15T12:00:00.000Z') {
    this.#wallMs = Date.parse(iso);
  }
  wallMs = (): number => this.#wallMs;
  monotonicMs = (): number => this.#monotonicMs;
  advance(ms: number): void {
    this.#wallMs += ms;
    this.#monotonicMs += ms;
  }
  /** Moves the wall clock only. */
  setWall(iso: string): void {
    this.#wallMs = Date.parse(iso);
  }
}

/** Commits a write's tally as a shard does, in a new shard. */
export async function commitTally(
  store: Store,
  clock: Clock,
  accountId: string,
  writes: number,
  vectors: number,
): Promise<void> {
  const outcome = await store.log.append({
    shard: shardKey(randomUUID(), 0),
    seq: 1,
    epoch: 1,
    entryId: randomUUID(),
    kind: 'write',
    head: { ...EMPTY_HEAD, seq: 1 },
    tally: { accountId, month: monthOf(clock.wallMs()), writes, vectors },
    body: new Uint8Array(1),
  });
  if (outcome !== 'committed') throw new Error('a fresh shard had an entry');
}

/**
 * Starts a broker with the keys and metering services, and a `collections.removeAll` that calls
 * `removeAll`.
 */
export async function startNode(
  store: Store,
  clock: Clock,
  plans: Partial<Record<PlanName, Record<string, number>>> = {},
  removeAll: (accountId: string) => Promise<void> = async () => {},
): Promise<World> {
  const dataDir = await mkdtemp(join(tmpdir(), 'provec-node-'));
  return startWorld({
    environment: {
      PROVEC_PLANS: JSON.stringify(plans),
      PROVEC_PRICING_URL: 'https://example.com/pricing',
      PROVEC_DATA_DIR: dataDir,
    },
    store,
    clock,
    services: [keysService, meteringService],
    fakes: {
      'collections.removeAll': async ({ accountId }) => {
        await removeAll(accountId);
        return null;
      },
    },
    broker: { nodeID: randomUUID(), stopped: () => rm(dataDir, { recursive: true, force: true }) },
  });
}

/** Repeats `check` until it returns true; fails after 90 s. */
export async function eventually(check: () => Promise<boolean> | boolean): Promise<void> {
  const end = performance.now() + 90_000;
  while (!(await check())) {
    if (performance.now() > end) throw new Error('it never came true');
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** Returns the ProvecError that a promise rejects with; throws any other error. */
export async function rejectedError(promise: Promise<unknown>): Promise<ProvecError> {
  const error = await promise.then(
    (answer) => new Error(`not refused but ${JSON.stringify(answer)}`),
    (reason: unknown) => reason,
  );
  if (!(error instanceof ProvecError)) throw error;
  return error;
}

/**
 * Whether a promise is still pending after all work that needs neither the clock nor the caller.
 */
export async function isPending(promise: Promise<unknown>): Promise<boolean> {
  let pending = true;
  const done = (): void => {
    pending = false;
  };
  promise.then(done, done);
  await untilStoreIdle();
  return pending;
}
