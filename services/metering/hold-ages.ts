import { INTERNAL_LIMITS } from '../../lib/limits.ts';
import { CounterAges } from '../../lib/time/counter-ages.ts';
import type { AccountWriteHold, AccountWriteHolds } from '../../store/usage.ts';

/** Key of a ticket's age, which runs from the start of its count even if the holder renews it. */
const countOf = (id: string): string => `${id} count`;

/**
 * What an instance has observed of an account's holds, on its monotonic clock. A read's time is
 * when it was sent.
 */
export class HoldAges {
  readonly #monotonicMs: () => number;
  readonly #sightings: CounterAges;
  /** End of the last store read that took longer than the renewal interval. */
  #stalledUntilMs = Number.NEGATIVE_INFINITY;

  constructor(monotonicMs: () => number) {
    this.#monotonicMs = monotonicMs;
    this.#sightings = new CounterAges(monotonicMs);
  }

  /** Records the end of a read. During a slow read holders cannot renew either. */
  read(askedAtMs: number): void {
    const monotonicMs = this.#monotonicMs();
    if (monotonicMs - askedAtMs >= INTERNAL_LIMITS.writeHolderRenewMs) this.#stalledUntilMs = monotonicMs;
  }

  /** Records a row that was read or written. */
  observe({ holds }: AccountWriteHolds): void {
    this.#sightings.observe([
      ...holds.map(({ id, beat }) => [id, beat] as const),
      ...holds.map(({ id, baseline }) => [countOf(id), baseline] as const),
    ]);
  }

  /** Returns the remaining time of a hold; 0 or less if it has expired. */
  leftMs({ id, baseline }: AccountWriteHold, askedAtMs: number): number {
    return baseline === null
      ? INTERNAL_LIMITS.writeReservationMaxMs - this.#sightings.unchangedMs(id, askedAtMs)
      : INTERNAL_LIMITS.writeTicketMaxMs - this.#sightings.unchangedMs(countOf(id), askedAtMs);
  }

  /** Whether its holder stopped renewing: it died, or does not know the outcome of its write. */
  isOrphaned({ id }: AccountWriteHold, askedAtMs: number): boolean {
    const quietMs = Math.min(this.#sightings.unchangedMs(id, askedAtMs), askedAtMs - this.#stalledUntilMs);
    return quietMs >= INTERNAL_LIMITS.writeHoldOrphanedAfterMs;
  }
}
