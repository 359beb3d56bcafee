import type { AccountId } from '../../lib/ids.ts';
import { HoldAges } from './hold-ages.ts';
import type { Decision, WriteRequest } from './write-decisions.ts';

export type WriteAnswer = { outcome: 'reserved'; id: string | null } | { outcome: 'count'; ticket: string };

/** A write that waits for room. */
export interface WaitingReservation extends WriteRequest {
  giveUpAtMs: number;
  /** The last decision for it, if it is unknown whether the store recorded that. */
  unsure: Decision | null;
  resolve(answer: WriteAnswer): void;
  reject(error: unknown): void;
}

/** An instance's state of an account's writes. */
export class AccountWrites {
  readonly id: AccountId;
  waiting: WaitingReservation[] = [];
  /** Ids of holds to end, with the promise of each caller. */
  readonly ending = new Map<string, PromiseWithResolvers<void>>();
  readonly renewing = new Set<string>();
  /** When the first orphaned hold expires. Rejected requests may have been told to retry then. */
  runsOutAtMs = Number.POSITIVE_INFINITY;
  /** True until the first turn has ended. */
  isNew = true;
  readonly sightings: HoldAges;
  deciding = false;
  /** Whether something arrived while a decision was being made. */
  again = false;
  lastUsedMs = 0;

  constructor(id: AccountId, monotonicMs: () => number) {
    this.id = id;
    this.sightings = new HoldAges(monotonicMs);
  }
}

/** Whether anything waits for the account's next turn. */
export function isAccountBusy({ waiting, ending, renewing }: AccountWrites): boolean {
  return waiting.length > 0 || ending.size > 0 || renewing.size > 0;
}
