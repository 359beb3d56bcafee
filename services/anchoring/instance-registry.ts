/**
 * Tracks the live instances of the service, and which of them is in charge of a collection.
 *
 * Instances that see the same others alive agree, by rendezvous hashing. An instance counts as dead
 * once its heartbeat has not changed for `DEAD_AFTER_MS` on the observer's own monotonic clock.
 * While views differ, two instances may both consider themselves in charge. That costs calls but is
 * safe, since safety rests on the rows alone (outbox.ts). An instance that cannot reach the store
 * keeps its last view.
 */

import { randomUUID } from 'node:crypto';
import type { CollectionId } from '../../lib/ids.ts';
import { Placement } from '../../lib/placement/placement.ts';
import type { Clock } from '../../lib/time/clock.ts';
import { CounterAges } from '../../lib/time/counter-ages.ts';
import type { AnchoringInstance, AnchorStore } from '../../store/anchors.ts';

/**
 * With a heartbeat and a check every second, collections of a dead instance are taken over within
 * the 6 s of a lease.
 */
const DEAD_AFTER_MS = 4_000;

type InstanceStore = Pick<AnchorStore, 'beat' | 'instances' | 'endInstance'>;
type Counts = Pick<AnchoringInstance, 'confirmed' | 'failures'>;

export class InstanceRegistry {
  readonly #instance: string = randomUUID();
  readonly #store: InstanceStore;
  readonly #clock: Clock;
  readonly #sightings: CounterAges;
  #placement = new Placement([{ node: this.#instance, weight: 1 }]);
  #beat = 0;

  constructor(store: InstanceStore, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
    this.#sightings = new CounterAges(() => clock.monotonicMs());
  }

  isInCharge(collectionId: CollectionId): boolean {
    return this.#placement.preferred(collectionId) === this.#instance;
  }

  /**
   * Writes a heartbeat and returns whether the set of live instances changed. Throws StoreError.
   */
  async look(counts: Counts): Promise<boolean> {
    this.#beat += 1;
    await this.#store.beat({ instance: this.#instance, beat: this.#beat, ...counts });
    const askedAtMs = this.#clock.monotonicMs();
    const rows = (await this.#store.instances()).filter(({ instance }) => instance !== this.#instance);
    this.#sightings.observe(rows.map(({ instance, beat }) => [instance, beat] as const));
    const live = [this.#instance];
    for (const { instance } of rows) {
      // Measured up to the read, not up to now: the instance may have written a heartbeat since.
      if (this.#sightings.unchangedMs(instance, askedAtMs) < DEAD_AFTER_MS) live.push(instance);
      else await this.#store.endInstance(instance);
    }
    const before = this.#placement;
    this.#placement = before.with(live.map((node) => ({ node, weight: 1 })));
    return this.#placement !== before;
  }

  /** Returns the counts of all live instances together. Throws StoreError. */
  async total(own: Counts): Promise<Counts> {
    const others = (await this.#store.instances()).filter(({ instance }) => instance !== this.#instance);
    return {
      confirmed: others.reduce((sum, { confirmed }) => sum + confirmed, own.confirmed),
      failures: others.reduce((sum, { failures }) => sum + failures, own.failures),
    };
  }

  /** Ends this instance, so that the others need not wait for its timeout. Never rejects. */
  async leave(): Promise<void> {
    // The others then wait for its timeout.
    await this.#store.endInstance(this.#instance).catch(() => undefined);
  }
}
