import { HoldSightings } from './hold-sightings.ts';
import type { WriteRequest } from './write-decisions.ts';

export type WriteAnswer = { outcome: 'reserved'; id: string | null } | { outcome: 'count'; ticket: string };

/** A write that waits for room. */
export interface Waiter extends WriteRequest {
  giveUpAtMs: number;
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
  /** Holds made here that have not been ended here. */
  own: Set<string>;
  sightings: HoldSightings;
  deciding: boolean;
  /** Something came while a decision was being made. */
  again: boolean;
  /** Its place in line is to be shown to be alive. */
  beatDue: boolean;
  lastUsedMs: number;
}

/** `nowMs`: monotonic. */
export function newAccountWrites(nowMs: () => number): AccountWrites {
  return {
    waiting: [],
    ending: new Map(),
    renewing: new Set(),
    runsOutAtMs: Number.POSITIVE_INFINITY,
    own: new Set(),
    sightings: new HoldSightings(nowMs),
    deciding: false,
    again: false,
    beatDue: false,
    lastUsedMs: 0,
  };
}

/** Whether somebody waits for the account's next turn. */
export function isBusy({ waiting, ending, renewing }: AccountWrites): boolean {
  return waiting.length > 0 || ending.size > 0 || renewing.size > 0;
}
