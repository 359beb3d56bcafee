/**
 * Compares what this store expects of a collection's account with the account itself, before this
 * instance signs after another instance's change. A restart, a restored backup or a tampered file
 * must never get its root signed over a newer, true one.
 *
 * Fails safe: anything unexplained halts the collection until an operator decides.
 */
import {
  type AnchoredRoot,
  anchorText,
  collectionRoot,
  isSameAnchor,
  isSameRoot,
} from '../../../lib/shard/collection-root.ts';
import { type Cut, isInvalidHead, type ShardHead } from '../../../lib/shard/head.ts';
import type { AnchorRow, ConfirmedAnchor } from '../../../store/anchors.ts';
import type { LedgerAccount } from '../ledger/rpc-responses.ts';

export type Reconciliation =
  /** Nothing contradicts the store. */
  | { outcome: 'sound' }
  /**
   * The ledger has a root that the store does not know as confirmed, but that matches `cut`. It is
   * anchored again, and the account counts this as a decision.
   */
  | { outcome: 'adopt'; cut: Cut }
  /** `mayBeLag`: a ledger node that is behind would show the same. */
  | { outcome: 'halt'; reason: string; mayBeLag: boolean }
  /** A shard does not know its head at the confirmed root. It reopens meanwhile; retry later. */
  | { outcome: 'retry' };

export interface StoredAnchorState extends Pick<AnchorRow, 'confirmed' | 'lapsed'> {
  /** Cut that the log contains now. */
  logged: Cut;
  /**
   * Returns the shards' own heads at the confirmed cut; null for a shard that does not know it for
   * now. Called only if there is a confirmed cut.
   */
  headsAt(cut: Cut): Promise<(ShardHead | null)[]>;
}

const halt = (reason: string, mayBeLag = false): Reconciliation => ({ outcome: 'halt', reason, mayBeLag });

/** Describes an account; equal states have equal descriptions. */
export function describeAccount(account: LedgerAccount): string {
  if (account.status !== 'found') return account.status;
  const { fields } = account;
  return fields === null ? 'no root' : anchorText(fields);
}

/**
 * Returns why a cut from the log cannot be anchored, as a sentence for the operator, or null if the
 * service wrote all its heads.
 */
export function unsoundHeadReason(cut: Cut): string | null {
  const shard = cut.findIndex(isInvalidHead);
  return shard < 0
    ? null
    : `The end of the log of shard ${shard} was not written by this service, or under another secret.`;
}

export async function reconcile(account: LedgerAccount, stored: StoredAnchorState): Promise<Reconciliation> {
  const { confirmed, lapsed, logged } = stored;
  if (account.status === 'foreign') return halt(account.reason);
  if (account.status === 'absent' || account.fields === null) {
    if (confirmed || lapsed?.length) return halt('The ledger no longer holds the root that it confirmed.', true);
    return { outcome: 'sound' };
  }
  const onChain = account.fields;
  if (confirmed && isSameAnchor(onChain, confirmed)) return checkShards(confirmed, await stored.headsAt(confirmed.cut));
  if (!confirmed && lapsed?.some((root) => isSameAnchor(onChain, root))) return checkSince(onChain, logged);
  const isNewer = !confirmed || onChain.version > confirmed.version;
  if (isNewer && isSameRoot(onChain, collectionRoot(logged))) return { outcome: 'adopt', cut: logged };
  if (onChain.version === confirmed?.version) {
    return halt(
      isSameRoot(onChain, confirmed)
        ? "The store's record of this collection's anchors was restored to a state before an operator's decision."
        : 'The ledger holds a different root from the one that it confirmed.',
    );
  }
  if (confirmed && onChain.version < confirmed.version) {
    return halt(
      `The ledger holds version ${onChain.version}, older than version ${confirmed.version} confirmed before.`,
      true,
    );
  }
  return halt(`The ledger holds version ${onChain.version}, which this store never anchored.`);
}

function checkShards(confirmed: ConfirmedAnchor, heads: (ShardHead | null)[]): Reconciliation {
  const known = heads.filter((head) => head !== null);
  if (known.length < heads.length) return { outcome: 'retry' };
  if (collectionRoot(known).merkleRoot !== confirmed.merkleRoot) {
    return halt("The stored records at the confirmed version give a different root from the ledger's.");
  }
  return { outcome: 'sound' };
}

/**
 * Checks a collection that was not anchored for a while. Its changes since then cannot be verified;
 * the stored data only has to be as new as the ledger's root, or newer.
 */
function checkSince(onChain: AnchoredRoot, logged: Cut): Reconciliation {
  const stored = collectionRoot(logged);
  if (isSameRoot(stored, onChain)) return { outcome: 'adopt', cut: logged };
  if (stored.version > onChain.version) return { outcome: 'sound' };
  return stored.version < onChain.version
    ? halt(`The stored data has version ${stored.version}, older than version ${onChain.version} on the ledger.`)
    : halt("The stored data give a different root from the ledger's for the same version.");
}
