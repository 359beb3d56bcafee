/**
 * Results of verifications that ended recently.
 *
 * A result is kept for an hour, unless its collection has had ten newer ones or memory runs out. An
 * account may use at most two thirds of the memory, and its new results replace its own old ones
 * first.
 */

import type { Verification } from '../../contracts/actions/verification.ts';
import { FairShares } from '../../lib/admission/fair-share.ts';
import { itemAt } from '../../lib/checked-access.ts';
import type { AccountId, CollectionId } from '../../lib/ids.ts';
import { INTERNAL_LIMITS } from '../../lib/limits.ts';
import type { Clock } from '../../lib/time/clock.ts';
import type { CollectionRow } from '../../store/catalog.ts';

/** Overhead per result. In addition to it, JSON takes up to two bytes per character. */
const ENTRY_BYTES = 1_024;
const SHARE_FACTOR = 2;

interface Ended {
  verification: Verification;
  collectionId: CollectionId;
  accountId: AccountId;
  endedMs: number;
  bytes: number;
}

export class EndedVerifications {
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  /** By id, in the order in which they ended. */
  readonly #kept = new Map<string, Ended>();
  readonly #bytes = new FairShares(SHARE_FACTOR, INTERNAL_LIMITS.verificationsKeptMaxBytes);

  constructor(clock: Pick<Clock, 'monotonicMs'>) {
    this.#clock = clock;
  }

  add({ id: collectionId, accountId }: Pick<CollectionRow, 'id' | 'accountId'>, verification: Verification): void {
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
      collectionId,
      accountId,
      endedMs: this.#clock.monotonicMs(),
      bytes,
    });
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
