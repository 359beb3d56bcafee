/**
 * Goes through all seals of a store, and puts the current secret's in the place of those that may
 * be replaced.
 *
 * Promises: a row that bears the seal of an accepted secret gets the current one's. One that bears
 * none is left as it is, and stays refused, unless the terms say that it is to be believed and the
 * service could have written it. Cut off anywhere and run again it comes to the same end: what is
 * done is found to be done.
 */
import type { StoreKeys } from '../secret/keyring.ts';
import { parseShardKey, type ShardKey } from '../shard/key.ts';
import type { LogFindings } from './log-resealing.ts';
import { isPossibleRow } from './possible-rows.ts';
import { RowSeals, type SealState, type StoredRow, type StoredSeals } from './resealing.ts';

/** What may be sealed although it bears no accepted seal. */
export interface Belief {
  row(stored: StoredRow): boolean;
  log(collectionId: string): boolean;
}

/** Takes nothing on trust. */
export const NO_BELIEF: Belief = { row: () => false, log: () => false };

/**
 * One row or one log that was looked at; `isRefused`: it, or a part of it, bears no good seal
 * afterwards.
 */
export type Finding = { isRefused: boolean } & (
  | { what: 'row'; stored: StoredRow; state: SealState }
  | { what: 'log'; shard: ShardKey; found: LogFindings }
);

/** What would be sealed anew; nothing is written. Throws StoreError. */
export async function* looked(seals: StoredSeals, keys: StoreKeys, belief: Belief): AsyncIterable<Finding> {
  yield* each(seals, keys, belief, false);
}

/** Seals everything anew, and the store itself last. Throws StoreError. */
export async function* resealed(seals: StoredSeals, keys: StoreKeys, belief: Belief): AsyncIterable<Finding> {
  await seals.begin();
  yield* each(seals, keys, belief, true);
  await seals.finish();
}

async function* each(seals: StoredSeals, keys: StoreKeys, belief: Belief, writes: boolean): AsyncIterable<Finding> {
  for await (const shards of seals.shards()) {
    for (const shard of shards) {
      const believes = belief.log(parseShardKey(shard).collectionId);
      const found = await seals.resealLog(shard, { believes, writes });
      yield { what: 'log', shard, found, isRefused: found.refused > 0 };
    }
  }
  const rowSeals = new RowSeals(keys);
  for await (const rows of seals.rows()) {
    for (const stored of rows) {
      const state = rowSeals.state(stored);
      const isTaken = state === 'earlier' || (state === 'none' && isPossibleRow(stored) && belief.row(stored));
      // One that another has changed since is no longer there to be sealed.
      const isDone = isTaken && (!writes || (await seals.replaceSeal(stored, rowSeals.seal(stored))));
      const isGood = stored.isInPlace && (state === 'current' || isDone);
      yield { what: 'row', stored, state, isRefused: !isGood };
    }
  }
}
