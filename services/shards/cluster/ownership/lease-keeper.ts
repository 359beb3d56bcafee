/**
 * Keeps this node's lease, which decides whether the node may serve its shards.
 *
 * Guarantees: `isValid` is true only while the last successful renewal was *sent* less than the
 * lease time ago on this node's monotonic clock. A lease that expired, or that another node ended,
 * never becomes valid again: `onLost` is called once, and a new incarnation begins. On failure:
 * without the store the lease expires, and the node serves nothing until the store is back. A node
 * that calls cannot reach has no lease. See docs/internals/ownership.md.
 */
import { randomUUID } from 'node:crypto';
import type { Clock } from '../../../../lib/time/clock.ts';
import { settledWithin, type Timers } from '../../../../lib/time/timers.ts';
import type { Holder, LeaseRow, LeaseStore, LeaseUse } from '../../../../store/owners.ts';
import { LEASE_MS, RENEW_EVERY_MS, RENEW_RETRY_MS } from './lease-terms.ts';

export interface LeaseKeeperOptions {
  leases: LeaseStore;
  clock: Pick<Clock, 'monotonicMs'>;
  timers: Timers;
  self: Pick<LeaseRow, 'node' | 'process'>;
  /** Called when the lease is over: drop everything held under that incarnation. */
  onLost(incarnation: string): void;
  /** Usage published in the lease at its start and with each renewal. Default: none. */
  use?(): LeaseUse;
  /** Default: 'no'. */
  cutOff?(): Isolation;
  /** Default: a random UUID. */
  newIncarnation?(): string;
}

/**
 * Whether calls cannot reach this node although the other nodes reach each other. An isolated node
 * holds no shards.
 */
export type Isolation = 'no' | 'maybe' | 'yes';

export class LeaseKeeper {
  readonly #options: LeaseKeeperOptions;
  #incarnation: string | null = null;
  #beat = 0;
  #validUntilMs = Number.NEGATIVE_INFINITY;
  draining = false;
  #stopped = false;
  #beginning: Promise<void> | null = null;
  /**
   * Expired leases of this node that may still be in the store. Until they are removed, other nodes
   * wait for what was held under them.
   */
  readonly #over = new Set<string>();
  #cancel: () => void = () => {};

  constructor(options: LeaseKeeperOptions) {
    this.#options = options;
  }

  /** The node and incarnation under which shards are held now, or null without a valid lease. */
  get holder(): Holder | null {
    if (this.#incarnation === null || !this.isValid(this.#incarnation)) return null;
    return { node: this.#options.self.node, incarnation: this.#incarnation };
  }

  /** Returns the holder, after waiting up to `maxMs` for a lease that is being taken. */
  async holderWithin(maxMs: number): Promise<Holder | null> {
    if (this.holder === null && this.#beginning !== null)
      await settledWithin(this.#options.timers, this.#beginning, maxMs);
    return this.holder;
  }

  isValid(incarnation: string): boolean {
    return incarnation === this.#incarnation && this.#options.clock.monotonicMs() < this.#validUntilMs;
  }

  /** Takes the first lease. Throws StoreError. */
  async start(): Promise<void> {
    await this.#begin();
    this.#schedule(RENEW_EVERY_MS);
  }

  /** Announces that this node takes no more shards. */
  async drain(): Promise<void> {
    this.draining = true;
    await this.#renew();
  }

  /**
   * Ends the lease so that others need not wait for it to expire. Drop everything held under it
   * first.
   */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#cancel();
    const incarnation = this.#incarnation;
    this.#incarnation = null;
    // The lease then expires.
    if (incarnation !== null) await this.#options.leases.end(incarnation).catch(() => undefined);
  }

  #begin(): Promise<void> {
    this.#beginning = this.#take().finally(() => {
      this.#beginning = null;
    });
    return this.#beginning;
  }

  async #take(): Promise<void> {
    const { leases, clock, self, newIncarnation = randomUUID } = this.#options;
    const use = this.#options.use?.();
    const incarnation = newIncarnation();
    const sentAtMs = clock.monotonicMs();
    await leases.begin({ ...self, incarnation, beat: 0, draining: this.draining, ...(use && { use }) });
    if (this.#stopped) return;
    const validUntilMs = this.validUntil(sentAtMs);
    if (clock.monotonicMs() >= validUntilMs) {
      // A stalled store may confirm a lease that has already expired. The next attempt is quick.
      this.#over.add(incarnation);
      return this.#take();
    }
    this.#incarnation = incarnation;
    this.#beat = 0;
    this.#validUntilMs = validUntilMs;
  }

  async #renew(): Promise<void> {
    const { leases, clock } = this.#options;
    const incarnation = this.#incarnation;
    if (incarnation === null) return;
    this.#beat++;
    const sentAtMs = clock.monotonicMs();
    const isThere = await leases.renew(incarnation, this.#beat, this.draining, this.#options.use?.());
    if (incarnation !== this.#incarnation) return;
    // A renewal confirmed after expiry is too late: others may have declared the lease dead.
    if (isThere && this.isValid(incarnation))
      this.#validUntilMs = Math.max(this.#validUntilMs, this.validUntil(sentAtMs));
    else this.#lose(incarnation);
  }

  /**
   * The lease counts from when the renewal was sent, because observers count from when it arrived.
   */
  protected validUntil(sentAtMs: number): number {
    return sentAtMs + LEASE_MS;
  }

  #lose(incarnation: string): void {
    if (incarnation !== this.#incarnation) return;
    this.#incarnation = null;
    this.#over.add(incarnation);
    this.#options.onLost(incarnation);
    void this.#endExpired();
  }

  async #endExpired(): Promise<void> {
    for (const incarnation of this.#over)
      await this.#options.leases.end(incarnation).then(
        () => this.#over.delete(incarnation),
        () => undefined,
      );
  }

  #schedule(ms: number): void {
    this.#cancel();
    if (this.#stopped) return;
    this.#cancel = this.#options.timers.after(ms, () => void this.#turn());
  }

  async #turn(): Promise<void> {
    const incarnation = this.#incarnation;
    const cutOff = this.#options.cutOff?.() ?? 'no';
    if (incarnation !== null && (cutOff === 'yes' || !this.isValid(incarnation))) this.#lose(incarnation);
    // Schedule the next turn first: a store that hangs must not keep the node from giving up its
    // lease in time.
    this.#schedule(RENEW_RETRY_MS);
    try {
      if (this.#incarnation !== null) await this.#renew();
      else if (this.#beginning === null && cutOff !== 'yes') await this.#begin();
      // If the store was down when these leases expired, it still has them.
      void this.#endExpired();
      const isSettled = this.#incarnation !== null && cutOff === 'no';
      this.#schedule(isSettled ? RENEW_EVERY_MS : RENEW_RETRY_MS);
    } catch {
      this.#schedule(RENEW_RETRY_MS);
    }
  }
}
