import { INTERNAL_LIMITS } from '../../lib/limits.ts';
import type { WriteHold, WriteHolds } from '../../lib/store/usage.ts';
import { Sightings } from '../../lib/time/sightings.ts';

/** A ticket's time runs from the beginning of its count, whether its holder lives or not. */
const countOf = (id: string): string => `${id} count`;

/**
 * What an instance has seen of one account's holds, by its own monotonic clock. Times are those of
 * a reading: of its beginning.
 */
export class HoldSightings {
  readonly #monotonicMs: () => number;
  readonly #sightings: Sightings;
  /** When the store last kept this instance waiting for longer than a holder has to renew in. */
  #stalledUntilMs = Number.NEGATIVE_INFINITY;

  constructor(monotonicMs: () => number) {
    this.#monotonicMs = monotonicMs;
    this.#sightings = new Sightings(monotonicMs);
  }

  /**
   * A reading that began then has ended, well or not: while the store answers nobody, no holder is
   * heard of.
   */
  read(askedAtMs: number): void {
    const monotonicMs = this.#monotonicMs();
    if (monotonicMs - askedAtMs >= INTERNAL_LIMITS.writeHolderRenewMs) this.#stalledUntilMs = monotonicMs;
  }

  /** Takes in a row that was read or written. */
  observe({ holds }: WriteHolds): void {
    this.#sightings.observe([
      ...holds.map(({ id, beat }) => [id, beat] as const),
      ...holds.map(({ id, baseline }) => [countOf(id), baseline] as const),
    ]);
  }

  /** What a hold has left of its time; 0 or less when that is over. */
  leftMs({ id, baseline }: WriteHold, askedAtMs: number): number {
    return baseline === null
      ? INTERNAL_LIMITS.writeReservationMaxMs - this.#sightings.unchangedMs(id, askedAtMs)
      : INTERNAL_LIMITS.writeTicketMaxMs - this.#sightings.unchangedMs(countOf(id), askedAtMs);
  }

  /**
   * Whether nothing is heard of the holder any more: it died, or does not know what became of its
   * write.
   */
  isOrphaned({ id }: WriteHold, askedAtMs: number): boolean {
    const quietMs = Math.min(this.#sightings.unchangedMs(id, askedAtMs), askedAtMs - this.#stalledUntilMs);
    return quietMs >= INTERNAL_LIMITS.writeHoldOrphanedAfterMs;
  }
}
