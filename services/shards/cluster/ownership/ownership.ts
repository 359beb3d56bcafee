/**
 * Tracks which shards this node holds, and under which claims.
 *
 * Guarantees: `acquire` resolves with a claim only if no holder with a live lease has the shard,
 * and only after fencing the log under the claim's epoch. A claim is valid as long as the lease it
 * was made under. A shard being handed over is not claimed again here in the meantime. On failure:
 * throws ShardMoved naming the node to ask, or none while this node has no valid lease, and
 * StoreError. See docs/internals/ownership.md.
 */

import { randomUUID } from 'node:crypto';
import type { CollectionId } from '../../../../lib/ids.ts';
import { EMPTY_HEAD } from '../../../../lib/shard/head.ts';
import { parseShardKey, type ShardKey } from '../../../../lib/shard/key.ts';
import { ShardMoved } from '../../../../lib/shard/moved.ts';
import type { ShardLog } from '../../../../store/log.ts';
import type { Holder, OwnerStore } from '../../../../store/owners.ts';
import type { Claim, Claims } from '../../memory/claims.ts';
import { fence as fenceLog } from './fence.ts';
import type { LeaseKeeper } from './lease-keeper.ts';
import { LEASE_WAIT_MS } from './lease-terms.ts';

export interface OwnershipOptions {
  owners: OwnerStore;
  log: ShardLog;
  keeper: LeaseKeeper;
  /**
   * Whether another holder's lease is over, so that nothing is served under it. Throws StoreError.
   */
  isOver(incarnation: string): Promise<boolean>;
  /** Default: a random UUID. */
  newEntryId?(): string;
  /** Default: appends a fencing entry to the log. */
  fence?: typeof fenceLog;
}

/** A claim on a shard that is held but not in memory. */
interface UnloadedClaim extends Omit<Claim, 'head'> {
  /** Bytes it took in memory when it was last loaded. */
  bytes: number;
}

export class Ownership implements Claims {
  readonly isShared = true;
  readonly #options: OwnershipOptions;
  /** Claims on shards that were closed cleanly, with nothing in flight. */
  #unloaded = new Map<ShardKey, UnloadedClaim>();
  /** Epochs under which shards were given to a node that has not claimed them yet. */
  #given = new Map<ShardKey, number>();
  /** Shards being handed over, with the node that receives each. */
  #leaving = new Map<ShardKey, string>();

  constructor(options: OwnershipOptions) {
    this.#options = options;
  }

  holds(claim: Claim): boolean {
    return this.#options.keeper.isValid(claim.incarnation);
  }

  async acquire(shard: ShardKey): Promise<Claim> {
    const { keeper, owners, log, newEntryId = randomUUID, fence = fenceLog } = this.#options;
    const holder = await keeper.holderWithin(LEASE_WAIT_MS);
    if (holder === null) throw noLease();
    const target = this.#leaving.get(shard);
    if (target !== undefined) throw new ShardMoved(target);
    const row = await owners.get(shard);
    const unloaded = this.#unloaded.get(shard);
    this.#unloaded.delete(shard);
    const isOwn = row?.holder?.incarnation === holder.incarnation;
    if (keeper.draining && isOwn) await owners.release(shard, row.epoch);
    if (keeper.draining) throw new ShardMoved(null);
    if (row && unloaded && row.epoch === unloaded.epoch && isOwn) {
      const head = await log.head(shard);
      const { epoch, incarnation } = unloaded;
      const claim = { shard, epoch, incarnation, head: head ?? EMPTY_HEAD };
      // Row and head were read under one valid lease, so they belong together. Had the lease
      // expired in between, another node could have claimed the shard.
      if (!this.holds(claim)) throw noLease();
      return claim;
    }
    // The node it was given to did not take it. If two nodes claim it now, one of them wins.
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
    if (!this.holds(claim)) throw noLease();
    return claim;
  }

  /**
   * Notes that the shard was closed cleanly, with nothing in flight, and is still held. `bytes`
   * is its former size in memory.
   */
  markUnloaded({ shard, epoch, incarnation }: Claim, bytes: number): void {
    this.#unloaded.set(shard, { shard, epoch, incarnation, bytes });
  }

  /** Shards held but not in memory, with the bytes they took in memory. */
  unloadedShards(): { shard: ShardKey; bytes: number }[] {
    return [...this.#unloaded.values()].map(({ shard, bytes }) => ({ shard, bytes }));
  }

  /** Redirects callers of the shard to `node`, or stops redirecting them if null. */
  redirect(shard: ShardKey, node: string | null): void {
    if (node === null) this.#leaving.delete(shard);
    else this.#leaving.set(shard, node);
  }

  /**
   * Gives an unloaded shard to `to`, which has precedence while its lease lives, or frees it for
   * any node.
   */
  async releaseUnloaded(shard: ShardKey, to?: Holder): Promise<void> {
    const claim = this.#unloaded.get(shard);
    if (claim && this.#options.keeper.isValid(claim.incarnation)) await this.#release(claim, to);
  }

  /**
   * Like `releaseUnloaded`, for a shard that is held here or was given to a node that has not
   * claimed it. Nothing of it may be in memory or loading; it need not have been closed cleanly.
   * Returns false if another node has it.
   */
  async release(shard: ShardKey, to?: Holder): Promise<boolean> {
    if (this.#unloaded.has(shard)) {
      await this.releaseUnloaded(shard, to);
      return true;
    }
    const { keeper, owners } = this.#options;
    const row = await owners.get(shard);
    const own = keeper.holder?.incarnation;
    if (!row || own === undefined) return false;
    // A claim by another node would have raised the epoch. The epoch also decides between this
    // release and a concurrent claim.
    if (row.holder?.incarnation !== own && row.epoch !== this.#given.get(shard)) return false;
    await this.#release(row, to);
    return true;
  }

  /** Forgets the unloaded claims of a deleted collection, or all of them when the lease is over. */
  forget(collectionId?: CollectionId): void {
    for (const shards of [this.#unloaded, this.#given])
      for (const shard of [...shards.keys()])
        if (collectionId === undefined || parseShardKey(shard).collectionId === collectionId) shards.delete(shard);
  }

  async #release({ shard, epoch }: Pick<Claim, 'shard' | 'epoch'>, to?: Holder): Promise<void> {
    if (to) this.#given.set(shard, epoch);
    this.#unloaded.delete(shard);
    await this.#options.owners.release(shard, epoch, to);
  }
}

/** Without a lease this node can hold nothing, but another node may. */
function noLease(): ShardMoved {
  return new ShardMoved(null);
}
