/**
 * Results of verifications that ended recently.
 *
 * A result is kept for an hour, unless its collection has had ten newer ones or memory runs out. An
 * account may use at most two thirds of the memory, and its new results replace its own old ones
 * first.
 */

import type { Verification, VerificationOverview } from '../../contracts/actions/verification.ts';
import { FairShares } from '../../lib/admission/fair-share.ts';
import { itemAt } from '../../lib/checked-access.ts';
import type { AccountId, CollectionId } from '../../lib/ids.ts';
import { INTERNAL_LIMITS } from '../../lib/limits.ts';
import type { Clock } from '../../lib/time/clock.ts';
import type { CollectionRow } from '../../store/catalog.ts';

/** Overhead per result. In addition to it, JSON takes up to two bytes per character. */
const ENTRY_BYTES = 1_024;
const SHARE_FACTOR = 2;

type OwnedRow = Pick<CollectionRow, 'id' | 'accountId' | 'name'>;

interface Ended {
  verification: Verification;
  overview: VerificationOverview;
  collectionId: CollectionId;
  accountId: AccountId;
  endedMs: number;
  bytes: number;
}

/** When a verification started and ended, in ISO 8601 UTC; null: not yet. */
export interface VerificationTimes {
  startedAt: string;
  endedAt: string | null;
}

/** Describes a verification to operators. */
export function overviewOf(
  { id: collectionId, accountId, name }: OwnedRow,
  { id, state, progress, result, error }: Verification,
  times: VerificationTimes,
): VerificationOverview {
  const outcome = { verdict: result?.state ?? null, error: error?.message ?? null };
  return { id, state, progress, collectionId, collection: `${accountId}/${name}`, ...times, ...outcome };
}

export class EndedVerifications {
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  /** By id, in the order in which they ended. */
  readonly #kept = new Map<string, Ended>();
  readonly #bytes = new FairShares(SHARE_FACTOR, INTERNAL_LIMITS.verificationsKeptMaxBytes);

  constructor(clock: Pick<Clock, 'monotonicMs'>) {
    this.#clock = clock;
  }

  add(collection: OwnedRow, verification: Verification, times: VerificationTimes): void {
    const { id: collectionId, accountId } = collection;
    this.#expire();
    const bytes = ENTRY_BYTES + 2 * JSON.stringify(verification).length;
    const ofCollection = this.#those((kept) => kept.collectionId === collectionId);
    if (ofCollection.length >= INTERNAL_LIMITS.verificationsKeptPerCollectionMax) this.#drop(itemAt(ofCollection, 0));
    while (!this.#bytes.fits(accountId, bytes)) {
      const [own] = this.#those((kept) => kept.accountId === accountId);
      this.#drop(own ?? itemAt([...this.#kept.values()], 0));
    }
    this.#bytes.add(accountId, bytes);
    this.#kept.set(verification.id, {
      verification,
      overview: overviewOf(collection, verification, times),
      collectionId,
      accountId,
      endedMs: this.#clock.monotonicMs(),
      bytes,
    });
  }

  /** Returns at most `count`, the last to end first. */
  newest(count: number): VerificationOverview[] {
    this.#expire();
    const kept = [...this.#kept.values()].slice(-count);
    return kept.map(({ overview }) => overview).reverse();
  }

  get(collectionId: CollectionId, id: string): Verification | null {
    this.#expire();
    const kept = this.#kept.get(id);
    return kept?.collectionId === collectionId ? kept.verification : null;
  }

  #expire(): void {
    const dueMs = this.#clock.monotonicMs() - INTERNAL_LIMITS.verificationKeptMaxMs;
    for (const kept of this.#kept.values()) {
      if (kept.endedMs > dueMs) return;
      this.#drop(kept);
    }
  }

  #those(isMeant: (kept: Ended) => boolean): Ended[] {
    return [...this.#kept.values()].filter(isMeant);
  }

  #drop({ verification, accountId, bytes }: Ended): void {
    this.#kept.delete(verification.id);
    this.#bytes.add(accountId, -bytes);
  }
}
