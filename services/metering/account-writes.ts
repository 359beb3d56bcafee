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
export interface AccountWrites {
  waiting: Waiter[];
  /** Ids of holds to be ended, with those who wait for that. */
  ending: Map<string, PromiseWithResolvers<void>>;
  renewing: Set<string>;
  /** When the first orphaned hold runs out: somebody may have been told to come back then. */
  runsOutAtMs: number;
  /** No turn has ended yet. */
  isNew: boolean;
  sightings: HoldSightings;
  deciding: boolean;
  /** Something came while a decision was being made. */
  again: boolean;
  lastUsedMs: number;
}

/** `nowMs`: monotonic. */
export function newAccountWrites(nowMs: () => number): AccountWrites {
  return {
    waiting: [],
    ending: new Map(),
    renewing: new Set(),
    runsOutAtMs: Number.POSITIVE_INFINITY,
    isNew: true,
    sightings: new HoldSightings(nowMs),
    deciding: false,
    again: false,
    lastUsedMs: 0,
  };
}

/** Whether somebody waits for the account's next turn. */
export function isBusy({ waiting, ending, renewing }: AccountWrites): boolean {
  return waiting.length > 0 || ending.size > 0 || renewing.size > 0;
}
