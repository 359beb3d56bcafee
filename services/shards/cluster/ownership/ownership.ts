/**
 * Which shards this node holds, and by what right.
 *
 * Promises: `acquire` resolves with a claim only when no holder with a live lease had the shard,
 * and after it has fenced the log under the claim's epoch. The claim is good while `holds` is true,
 * which is while the lease that it was made under is valid. A shard that is being handed over is
 * not claimed again here meanwhile.
 * How it fails: ShardMoved with the node to ask, or with none while this node has no valid lease;
 * StoreError.
 * See docs/internals/ownership.md.
 */
import { randomUUID } from 'node:crypto';
import { EMPTY_HEAD } from '../../../../lib/shard/head.ts';
import { parseShardKey, type ShardKey } from '../../../../lib/shard/key.ts';
import { ShardMoved } from '../../../../lib/shard/moved.ts';
import type { ShardLog } from '../../../../lib/store/log.ts';
import type { Holder, OwnerStore } from '../../../../lib/store/owners.ts';
import type { Claim, Claims } from './claims.ts';
import { fence as fenceLog } from './fence.ts';
import type { LeaseKeeper } from './lease-keeper.ts';
import { LEASE_WAIT_MS } from './lease-terms.ts';

export interface OwnershipOptions {
  owners: OwnerStore;
  log: ShardLog;
  keeper: LeaseKeeper;
  /**
   * Whether the lease of another holder is over, so that nothing is served under it any more.
   * Throws StoreError.
   */
  isOver(incarnation: string): Promise<boolean>;
  /** Default: a random UUID. */
  newEntryId?(): string;
  /** Default: an entry of the log, after which nobody commits under an earlier epoch. */
  fence?: typeof fenceLog;
}

/** A shard that is held and is in memory no more. */
interface Resting extends Omit<Claim, 'head'> {
  /** In memory, when it was last there. */
  bytes: number;
}

export class Ownership implements Claims {
  readonly isShared = true;
  readonly #options: OwnershipOptions;
  /** Claims that were let go in good order, with nothing in flight. */
  #resting = new Map<ShardKey, Resting>();
  /** Epochs under which shards were left to somebody who has yet to claim them. */
  #given = new Map<ShardKey, number>();
  /** Shards that are on their way to another node. */
  #leaving = new Map<ShardKey, string>();

  constructor(options: OwnershipOptions) {
    this.#options = options;
  }

  /** Whether the claim is good at this moment. */
  holds(claim: Claim): boolean {
    return this.#options.keeper.isValid(claim.incarnation);
  }

  async acquire(shard: ShardKey): Promise<Claim> {
    const { keeper, owners, log, newEntryId = randomUUID, fence = fenceLog } = this.#options;
    const holder = await keeper.holderWithin(LEASE_WAIT_MS);
    if (holder === null) throw outOfTouch();
    const target = this.#leaving.get(shard);
    if (target !== undefined) throw new ShardMoved(target);
    const row = await owners.get(shard);
    const resting = this.#resting.get(shard);
    this.#resting.delete(shard);
    const isOwn = row?.holder?.incarnation === holder.incarnation;
    if (keeper.draining && isOwn) await owners.release(shard, row.epoch);
    if (keeper.draining) throw new ShardMoved(null);
    if (row && resting && row.epoch === resting.epoch && isOwn) {
      const head = await log.head(shard);
      const { epoch, incarnation } = resting;
      const claim = { shard, epoch, incarnation, head: head ?? EMPTY_HEAD };
      // Read while the lease ran, row and head are of one holding; read later, somebody may have
      // claimed the shard in between.
      if (!this.holds(claim)) throw outOfTouch();
      return claim;
    }
    // Whoever it was left to did not take it: of two that claim it now one wins.
    const isGiven = row?.epoch === this.#given.get(shard);
    if (row?.holder && !isOwn && !isGiven && !(await this.#options.isOver(row.holder.incarnation)))
      throw new ShardMoved(row.holder.node);
    if (keeper.draining) throw new ShardMoved(null);
    const epoch = (row?.epoch ?? 0) + 1;
    if (!(await owners.claim({ shard, epoch, holder }))) {
      throw new ShardMoved((await owners.get(shard))?.holder?.node ?? null);
    }
    this.#given.delete(shard);
    const head = await fence(this.#options, shard, epoch, newEntryId);
    const claim = { shard, epoch, incarnation: holder.incarnation, head };
    if (!this.holds(claim)) throw outOfTouch();
    return claim;
  }

  /**
   * The shard, of so many bytes, left memory with nothing in flight; this node goes on holding it.
   */
  rest({ shard, epoch, incarnation }: Claim, bytes: number): void {
    this.#resting.set(shard, { shard, epoch, incarnation, bytes });
  }

  /**
   * Shards that this node holds and that are in memory no more, with the bytes that they took
   * there.
   */
  resting(): { shard: ShardKey; bytes: number }[] {
    return [...this.#resting.values()].map(({ shard, bytes }) => ({ shard, bytes }));
  }

  /**
   * Sends callers of the shard to `node`; null: no longer, it is held elsewhere or was not taken.
   */
  redirect(shard: ShardKey, node: string | null): void {
    if (node === null) this.#leaving.delete(shard);
    else this.#leaving.set(shard, node);
  }

  /**
   * Leaves a shard that rests here to `to`, which nobody can come before while it lives, or to
   * anybody.
   */
  async releaseResting(shard: ShardKey, to?: Holder): Promise<void> {
    const claim = this.#resting.get(shard);
    if (claim && this.#options.keeper.isValid(claim.incarnation)) await this.#release(claim, to);
  }

  /**
   * As `releaseResting`, a shard that is held here, or was left to somebody who has yet to claim
   * it, and of which nothing is in memory or on its way there, whether it left in good order or
   * not. False where somebody else has it.
   */
  async release(shard: ShardKey, to?: Holder): Promise<boolean> {
    if (this.#resting.has(shard)) {
      await this.releaseResting(shard, to);
      return true;
    }
    const { keeper, owners } = this.#options;
    const row = await owners.get(shard);
    const own = keeper.holder?.incarnation;
    if (!row || own === undefined) return false;
    // A claim would have raised the epoch, and one that comes at the same time decides by it.
    if (row.holder?.incarnation !== own && row.epoch !== this.#given.get(shard)) return false;
    await this.#release(row, to);
    return true;
  }

  /**
   * Forgets what is held: of a collection that is no more, and of which nothing is in memory; or
   * all, the lease being over.
   */
  forget(collectionId?: string): void {
    for (const shards of [this.#resting, this.#given])
      for (const shard of [...shards.keys()])
        if (collectionId === undefined || parseShardKey(shard).collectionId === collectionId) shards.delete(shard);
  }

  async #release({ shard, epoch }: Pick<Claim, 'shard' | 'epoch'>, to?: Holder): Promise<void> {
    if (to) this.#given.set(shard, epoch);
    this.#resting.delete(shard);
    await this.#options.owners.release(shard, epoch, to);
  }
}

/** Without a lease nothing can be held here; another node may. */
function outOfTouch(): ShardMoved {
  return new ShardMoved(null);
}
