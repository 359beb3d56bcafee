import { HoldSightings } from './hold-sightings.ts';
import type { Decision, WriteRequest } from './write-decisions.ts';

export type WriteAnswer = { outcome: 'reserved'; id: string | null } | { outcome: 'count'; ticket: string };

/** A write that waits for room. */
export interface Waiter extends WriteRequest {
  giveUpAtMs: number;
  /** What was decided for it when nobody learned whether that was written. */
  unsure: Decision | null;
  resolve(answer: WriteAnswer): void;
  reject(error: unknown): void;
}

/** What one instance knows of an account's writes. */
export class AccountWrites {
  readonly id: string;
  waiting: Waiter[] = [];
  /** Ids of holds to be ended, with those who wait for that. */
  readonly ending = new Map<string, PromiseWithResolvers<void>>();
  readonly renewing = new Set<string>();
  /** When the first orphaned hold runs out: somebody may have been told to come back then. */
  runsOutAtMs = Number.POSITIVE_INFINITY;
  /** No turn has ended yet. */
  isNew = true;
  readonly sightings: HoldSightings;
  deciding = false;
  /** Something came while a decision was being made. */
  again = false;
  lastUsedMs = 0;

  /** `monotonicMs`: monotonic. */
  constructor(id: string, monotonicMs: () => number) {
    this.id = id;
    this.sightings = new HoldSightings(monotonicMs);
  }
}

/** Whether somebody waits for the account's next turn. */
export function isBusy({ waiting, ending, renewing }: AccountWrites): boolean {
  return waiting.length > 0 || ending.size > 0 || renewing.size > 0;
}
