/**
 * Replaces the seals of a store with seals of the current secret.
 *
 * Guarantees: a row with a valid seal of any accepted secret is resealed. A row without one is left
 * as it is, and stays refused, unless the trust policy accepts it and the service could have
 * written it. A run that was interrupted can be repeated: it skips what is already done.
 */
import type { CollectionId } from '../lib/ids.ts';
import type { StoreKeys } from '../lib/secret/keyring.ts';
import { parseShardKey, type ShardKey } from '../lib/shard/key.ts';
import type { LogFindings } from './log-resealing.ts';
import { isPossibleRow } from './possible-rows.ts';
import { RowSeals, type SealState, type StoredRow, type StoredSeals } from './resealing.ts';

/** Decides what is resealed although it has no valid seal. */
export interface TrustPolicy {
  row(stored: StoredRow): boolean;
  log(collectionId: CollectionId): boolean;
}

/** Trusts no row or log without a valid seal. */
export const TRUST_NOTHING: TrustPolicy = { row: () => false, log: () => false };

/**
 * Result for one row or one log. `isRefused`: it, or part of it, has no valid seal afterwards
 * either.
 */
export type SealFinding = { isRefused: boolean } & (
  | { what: 'row'; stored: StoredRow; state: SealState }
  | { what: 'log'; shard: ShardKey; found: LogFindings }
);

/** Reports what `resealAll` would do without writing. Throws StoreError. */
export async function* auditSeals(
  seals: StoredSeals,
  keys: StoreKeys,
  policy: TrustPolicy,
): AsyncIterable<SealFinding> {
  yield* visitSeals(seals, keys, policy, false);
}

/** Reseals everything, and the store's own mark last. Throws StoreError. */
export async function* resealAll(seals: StoredSeals, keys: StoreKeys, policy: TrustPolicy): AsyncIterable<SealFinding> {
  await seals.begin();
  yield* visitSeals(seals, keys, policy, true);
  await seals.finish();
}

async function* visitSeals(
  seals: StoredSeals,
  keys: StoreKeys,
  policy: TrustPolicy,
  writes: boolean,
): AsyncIterable<SealFinding> {
  for await (const shards of seals.shards()) {
    for (const shard of shards) {
      const trustsLog = policy.log(parseShardKey(shard).collectionId);
      const found = await seals.resealLog(shard, { trustsLog, writes });
      yield { what: 'log', shard, found, isRefused: found.refused > 0 };
    }
  }
  const rowSeals = new RowSeals(keys);
  for await (const rows of seals.rows()) {
    for (const stored of rows) {
      const state = rowSeals.state(stored);
      const isTaken = state === 'earlier' || (state === 'none' && isPossibleRow(stored) && policy.row(stored));
      // A row that changed since it was read is not resealed here.
      const isDone = isTaken && (!writes || (await seals.replaceSeal(stored, rowSeals.seal(stored))));
      const isGood = stored.isInPlace && (state === 'current' || isDone);
      yield { what: 'row', stored, state, isRefused: !isGood };
    }
  }
}
