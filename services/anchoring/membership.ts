/**
 * The instances of the service that live, and which of them is in charge of a collection.
 *
 * Promises: instances that see the same ones alive agree (rendezvous hashing); an instance that
 * stops writing beats is given up once its beat has stood still for `DEAD_AFTER_MS` on the
 * observer's own monotonic clock. Two may both believe that they are in charge while their views
 * differ: that costs calls, never safety, which rests on the rows alone (outbox.ts). How it fails:
 * an instance that cannot reach the store judges nobody and goes on with what it saw last.
 */
import { randomUUID } from 'node:crypto';
import { Placement } from '../../lib/placement/placement.ts';
import type { AnchoringInstance, AnchorStore } from '../../lib/store/anchors.ts';
import type { Clock } from '../../lib/time/clock.ts';
import { Sightings } from '../../lib/time/sightings.ts';

/**
 * With a beat and a look every second the collections of a dead instance are taken up within the 6
 * s that leases have.
 */
const DEAD_AFTER_MS = 4_000;

type InstanceStore = Pick<AnchorStore, 'beat' | 'instances' | 'endInstance'>;
type Counts = Pick<AnchoringInstance, 'confirmed' | 'failures'>;

export class Membership {
  readonly #instance: string = randomUUID();
  readonly #store: InstanceStore;
  readonly #clock: Clock;
  readonly #sightings: Sightings;
  #placement = new Placement([{ node: this.#instance, weight: 1 }]);
  #beat = 0;

  constructor(store: InstanceStore, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
    this.#sightings = new Sightings(() => clock.monotonicMs());
  }

  isInCharge(collectionId: string): boolean {
    return this.#placement.preferred(collectionId) === this.#instance;
  }

  /**
   * Tells the others that this instance lives, and looks which of them do; whether that changed.
   * Throws StoreError.
   */
  async look(counts: Counts): Promise<boolean> {
    this.#beat += 1;
    await this.#store.beat({ instance: this.#instance, beat: this.#beat, ...counts });
    const askedAtMs = this.#clock.monotonicMs();
    const rows = (await this.#store.instances()).filter(({ instance }) => instance !== this.#instance);
    this.#sightings.observe(rows.map(({ instance, beat }) => [instance, beat] as const));
    const live = [this.#instance];
    for (const { instance } of rows) {
      // Not until the present: it may have written a beat since they were read.
      if (this.#sightings.unchangedMs(instance, askedAtMs) < DEAD_AFTER_MS) live.push(instance);
      else await this.#store.endInstance(instance);
    }
    const before = this.#placement;
    this.#placement = before.with(live.map((node) => ({ node, weight: 1 })));
    return this.#placement !== before;
  }

  /** What all instances that live have counted. Throws StoreError. */
  async total(own: Counts): Promise<Counts> {
    const others = (await this.#store.instances()).filter(({ instance }) => instance !== this.#instance);
    return {
      confirmed: others.reduce((sum, { confirmed }) => sum + confirmed, own.confirmed),
      failures: others.reduce((sum, { failures }) => sum + failures, own.failures),
    };
  }

  /** The others need not wait for its death. Never rejects. */
  async leave(): Promise<void> {
    await this.#store.endInstance(this.#instance).catch(() => undefined);
  }
}
