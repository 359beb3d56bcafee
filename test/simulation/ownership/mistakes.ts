/**
 * Plausible mistakes, each replacing a correct part. The simulation is only as good as its ability
 * to find them.
 */

import { EMPTY_HEAD } from '../../../lib/shard/head.ts';
import { type ShardKey, shardKey } from '../../../lib/shard/key.ts';
import { ShardMoved } from '../../../lib/shard/moved.ts';
import type { Clock } from '../../../lib/time/clock.ts';
import { LeaseKeeper, type LeaseKeeperOptions } from '../../../services/shards/cluster/ownership/lease-keeper.ts';
import { DEAD_AFTER_MS, LEASE_MS } from '../../../services/shards/cluster/ownership/lease-terms.ts';
import { LeaseWatch } from '../../../services/shards/cluster/ownership/lease-watch.ts';
import { Ownership, type OwnershipOptions } from '../../../services/shards/cluster/ownership/ownership.ts';
import { Replicas, type ReplicasOptions } from '../../../services/shards/cluster/replicas.ts';
import type { Claim } from '../../../services/shards/memory/claims.ts';
import type { ShardWorker } from '../../../services/shards/worker/pool.ts';
import type { WorkerOps } from '../../../services/shards/worker/protocol.ts';
import type { LeaseRow } from '../../../store/owners.ts';
import type { Distortion } from './inline-worker.ts';
import { SOUND } from './simulated-membership.ts';
import type { Defects } from './world.ts';

/** Opens without a fence, so the previous holder can still append. */
class NoFence extends Ownership {
  constructor(options: OwnershipOptions) {
    super({ ...options, fence: async ({ log }, shard) => (await log.head(shard)) ?? EMPTY_HEAD });
  }
}

/** Never checks whether it may still answer. */
class HoldsForEver extends Ownership {
  override holds(_claim: Claim): boolean {
    return true;
  }
}

/** Compares a time that the holder's wall clock wrote with its own. */
class ExpiryByWallClock extends LeaseWatch {
  readonly #clock: Pick<Clock, 'monotonicMs'>;

  constructor(clock: Pick<Clock, 'monotonicMs'>, overMax: number) {
    super(clock, overMax);
    this.#clock = clock;
  }

  override dead(): ReturnType<LeaseWatch['dead']> {
    // Assumes a beat every two seconds since the holder's start, by the holder's clock, and
    // compares that with the observer's clock, which has another origin.
    const isExpired = (row: LeaseRow): boolean =>
      (this.#clock.monotonicMs() % 60_000) - row.beat * 2_000 >= DEAD_AFTER_MS;
    return this.sightings().flatMap(({ row }) => (isExpired(row) ? [{ row, gone: false }] : []));
  }
}

/** Counts the lease from when the response to the renewal arrived. */
class CountedFromAnswer extends LeaseKeeper {
  readonly #clock: LeaseKeeperOptions['clock'];

  constructor(options: LeaseKeeperOptions) {
    super(options);
    this.#clock = options.clock;
  }

  protected override validUntil(): number {
    return super.validUntil(this.#clock.monotonicMs());
  }
}

/** Assumes that all clocks run at the same rate. */
class NoMargin extends LeaseWatch {
  constructor(clock: Pick<Clock, 'monotonicMs'>, overMax: number) {
    super(clock, overMax, LEASE_MS);
  }
}

/** Assumes that a copy contains the whole log when it takes over. */
class TrustsTheCopy extends Replicas {
  readonly #store: ReplicasOptions['store'];

  constructor(options: ReplicasOptions) {
    super(options);
    this.#store = options.store;
  }

  override async take(key: ShardKey): ReturnType<Replicas['take']> {
    const copy = await super.take(key);
    const head = copy && (await this.#store.log.head(key));
    return copy && head && { ...copy, warm: { ...copy.warm, head } };
  }
}

/** Assumes that every copy matches the log, without comparing roots. */
class NeverLooksAtRoots extends Replicas {
  constructor(options: ReplicasOptions) {
    super(withWorkers(options, unchecked));
  }
}

/** Sometimes skips a log entry, and still assumes that it matches the log. */
class SkipsEntries extends NeverLooksAtRoots {
  constructor(options: ReplicasOptions) {
    const { store } = options;
    const read: typeof store.log.read = async (...given) =>
      (await store.log.read(...given)).map((entry) =>
        entry.seq % 5 === 0 ? { ...entry, kind: 'void', body: new Uint8Array(0) } : entry,
      );
    super({ ...options, store: { ...store, log: { ...store.log, read } } });
  }
}

/** Continues to read from dropped copies, which stay in memory. */
class ReadsWhatIsThrownAway extends Replicas {
  readonly #workers = new Map<ShardKey, ShardWorker>();

  constructor(options: ReplicasOptions) {
    super(withWorkers(options, keeping));
  }

  override async read<T>(...[spec, work]: Parameters<typeof Replicas.prototype.read<T>>): Promise<T> {
    const key = shardKey(spec.collectionId, spec.index);
    try {
      return await super.read(spec, (copy) => {
        this.#workers.set(key, copy.worker);
        return work(copy);
      });
    } catch (error) {
      const worker = this.#workers.get(key);
      if (!worker || !(error instanceof ShardMoved)) throw error;
      return work({ key, worker });
    }
  }
}

type Request = ShardWorker['request'];

/** Wraps the workers of copies so that their responses change. */
function withWorkers(options: ReplicasOptions, change: (request: Request) => Request): ReplicasOptions {
  const changed = (worker: ShardWorker): ShardWorker =>
    new Proxy(worker, {
      get: (target, name) => {
        if (name === 'request') return change(target.request.bind(target));
        const value = Reflect.get(target, name) as unknown;
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
  const pool = { leastLoaded: () => changed(options.pool.leastLoaded()) } as typeof options.pool;
  return { ...options, pool };
}

function unchecked(request: Request): Request {
  return async (op, params, transfer) => {
    if (op !== 'replay') return request(op, params, transfer);
    const result = await request(op, { ...params, orClose: false }, transfer);
    const last = (params as WorkerOps['replay']['params']).entries.at(-1);
    return last ? { ...(result as WorkerOps['replay']['result']), head: last.head, differs: null } : result;
  };
}

/** Wraps worker requests so that nothing is ever freed. */
function keeping(request: Request): Request {
  return (op, params, transfer) => {
    if (op === 'close') return Promise.resolve(null as never);
    return request(op, op === 'replay' ? { ...params, orClose: false } : params, transfer);
  };
}

export interface Mistake {
  defects(): Defects;
  /** Message of the fault that finds the mistake. */
  found: RegExp;
  /** Profile of the runs that are meant to find it; others may find it, too. */
  profile: string;
}

const WRONG_COPY = /the copy of n\d has another state/;
const SERVED_TWICE = /serve at one time/;
const WRONG_RECORDS = /is stored as/;

export const MISTAKES: Record<string, Mistake> = {
  'no fence': mistake('stuck writes', /came after a claim/, () => ({ parts: { ...SOUND, Owner: NoFence } })),
  'expiry by wall clock': mistake('pauses', SERVED_TWICE, () => ({ parts: { ...SOUND, Watch: ExpiryByWallClock } })),
  'a lease counted from when its renewal was answered': mistake('end of lease', SERVED_TWICE, () => ({
    parts: { ...SOUND, Keeper: CountedFromAnswer },
  })),
  'no margin for the rates of clocks': mistake('end of lease', SERVED_TWICE, () => ({
    parts: { ...SOUND, Watch: NoMargin },
  })),
  'answers of a node that holds the shard no more': mistake('end of lease', SERVED_TWICE, () => ({
    parts: { ...SOUND, Owner: HoldsForEver },
  })),
  'an answer of a while ago': mistake('moves', /which it was nowhere/, () => ({ distort: staleReads() })),
  'a request to write that runs twice': mistake('bad line', /was written twice/, () => ({ bringsWritesTwice: true })),
  'a root of other content': mistake('swarm', /the root of entry/, () => ({ distort: countTooHigh })),
  'two commits of one seq': mistake('stuck writes', /was replaced/, () => ({ defects: { overwritesEntries: true } })),
  'reading what a failover takes back': mistake('failover', /another state/, () => ({
    defects: { readsMinority: true },
  })),
  'a lower seq that overwrites a higher one': mistake('late writes', WRONG_RECORDS, () => ({
    defects: { overwritesHigherRows: true },
  })),
  'a delete that leaves nothing behind': mistake('everything', WRONG_RECORDS, () => ({
    defects: { forgetsDeletes: true },
  })),
  'a log that is trimmed past the mark': mistake('late writes', /the log is trimmed/, () => ({
    defects: { trimsAll: true },
  })),
  'a copy that is read although its root is wrong': mistake('copies', WRONG_COPY, () => ({
    parts: { ...SOUND, Copies: NeverLooksAtRoots },
  })),
  'a copy that skips an entry, and whose root nobody looks at': mistake('copies', WRONG_COPY, () => ({
    parts: { ...SOUND, Copies: SkipsEntries },
  })),
  'a copy that applies what a failover takes back': mistake('copies in failover', WRONG_COPY, () => ({
    defects: { copiesReadMinority: true },
  })),
  'a takeover that reads nothing of the log after its fence': mistake('copies', /answers from an older state/, () => ({
    parts: { ...SOUND, Copies: TrustsTheCopy },
  })),
  'a copy that is read after it was thrown away': mistake('copies', /the copy of n\d gave/, () => ({
    parts: { ...SOUND, Copies: ReadsWhatIsThrownAway },
  })),
  'a mark that is raised before its rows are written': mistake('unknown outcomes', WRONG_RECORDS, () => ({
    defects: { marksFirst: true },
  })),
};

function mistake(profile: string, found: RegExp, defects: () => Defects): Mistake {
  return { found, profile, defects };
}

/** Every tenth fetch of a record returns the result of the first one. */
function staleReads(): Distortion {
  const first = new Map<string, unknown>();
  let fetches = 0;
  return (op, result) => {
    if (op !== 'fetch') return result;
    const id = (result as WorkerOps['fetch']['result']).items[0]?.id;
    if (id === undefined) return result;
    if (!first.has(id)) first.set(id, result);
    return ++fetches % 10 === 0 ? first.get(id) : result;
  };
}

const countTooHigh: Distortion = (op, result) => {
  if (op !== 'stage') return result;
  const { outcomes, commit } = result as WorkerOps['stage']['result'];
  return { outcomes, commit: commit && { ...commit, head: { ...commit.head, count: commit.head.count + 1 } } };
};
