/**
 * Compares a collection with its account on the ledger, which only the holder of the ledger's
 * keypair can write. This shows which data is authentic when no seal can.
 *
 * The collection's outbox row is sealed with a key derived from that keypair and gives the shard
 * seqs of the root on the ledger. The stored bytes, every leaf hashed again, are replayed to those
 * seqs and must give that root. Nothing vouches for later log entries. Anything else is a
 * contradiction.
 */
import type { Logger } from 'pino';
import { collectionRoot, isSameAnchor, isSameRoot } from '../../lib/shard/collection-root.ts';
import type { Cut } from '../../lib/shard/head.ts';
import type { LedgerClient } from '../../services/anchoring/ledger/ledger-client.ts';
import type { LedgerAccount } from '../../services/anchoring/ledger/rpc-responses.ts';
import { type SealedAnchors, sealed } from '../../services/anchoring/outbox/row-seal.ts';
import { describeAccount, reconcile } from '../../services/anchoring/recovery/reconciliation.ts';
import type { AnchorRow, AnchorStore, ConfirmedAnchor } from '../../store/anchors.ts';
import type { CollectionRow } from '../../store/catalog.ts';
import { contentOf, type Stored, type StoredContent } from './content.ts';

/** Result of comparing a collection with the ledger. */
export type LedgerComparison =
  | { state: 'held' }
  /** Matches up to `version`; `writes` writes followed. */
  | { state: 'held in part'; version: number; writes: number }
  | { state: 'contradicts'; why: string }
  | { state: 'not held'; why: string };

/** The ledger and the outbox rows that collections are compared with. */
export interface Witness {
  ledger: Pick<LedgerClient, 'survey'>;
  anchors: SealedAnchors;
}

const notHeld = (why: string): LedgerComparison => ({ state: 'not held', why });
const contradicts = (why: string): LedgerComparison => ({ state: 'contradicts', why });
const QUIET: Pick<Logger, 'error'> = { error: () => undefined };

/** Returns the ledger and the outbox rows, read with the key derived from the ledger's keypair. */
export function witnessOf(ledger: LedgerClient, anchors: AnchorStore, sealKey: Uint8Array): Witness {
  return { ledger, anchors: sealed(anchors, sealKey, () => Date.now(), QUIET) };
}

/**
 * Checks a collection without a witness: only that its bytes match its own log. `why`: the reason
 * for the missing witness. Throws StoreError.
 */
export async function compareWithOwnLog(
  store: Stored,
  collection: CollectionRow,
  why: string,
): Promise<LedgerComparison> {
  const { contradiction } = await contentOf(store, collection, null);
  return contradiction === null ? notHeld(why) : contradicts(contradiction);
}

/** Throws StoreError, or LedgerUnreachableError when the ledger does not return the account. */
export async function compareWithLedger(
  store: Stored,
  collection: CollectionRow,
  witness: Witness,
): Promise<LedgerComparison> {
  const { ledger, anchors } = witness;
  const row = await anchors.get(collection.id);
  const isUnsound = anchors.unsound.has(collection.id);
  const { account } = await ledger.survey(collection.id, isUnsound ? null : row);
  const confirmed = isUnsound || row === null ? null : confirmedBy(account, row);
  if (confirmed && confirmed.cut.length !== collection.shards)
    return contradicts(`It has ${collection.shards} shards, but the root on the ledger is of ${confirmed.cut.length}.`);
  const content = await contentOf(store, collection, confirmed?.cut ?? null);
  if (content.contradiction !== null) return contradicts(content.contradiction);
  if (isUnsound) return notHeld('The anchors in the store were not written under this keypair.');
  if (row?.trusted && row.trusted === describeAccount(account))
    return notHeld("An operator's decision over what the ledger holds has yet to be anchored.");
  const finding = await reconcile(account, {
    confirmed,
    lapsed: row?.lapsed ?? null,
    logged: content.recorded,
    headsAt: async () => content.atCut,
  });
  if (finding.outcome === 'halt') return contradicts(finding.reason);
  if (finding.outcome === 'retry')
    return contradicts('What is stored begins after the root that was confirmed on the ledger, or ends before it.');
  if (finding.outcome === 'adopt') return { state: 'held' };
  return confirmed ? heldUpTo(confirmed, content) : withoutRoot(account, content);
}

/**
 * The row's record of what is on the ledger: the root confirmed last, or the root in flight when
 * the service ended.
 */
function confirmedBy(account: LedgerAccount, { confirmed, inFlight }: AnchorRow): ConfirmedAnchor | null {
  const cut: Cut | null = inFlight?.cut ?? null;
  if (cut === null || account.status !== 'found' || account.fields === null) return confirmed;
  const sent = { ...collectionRoot(cut), decisions: inFlight!.decisions };
  return isSameAnchor(account.fields, sent) ? { ...sent, cut, signature: '', confirmedAt: '' } : confirmed;
}

function heldUpTo(confirmed: ConfirmedAnchor, { recorded }: StoredContent): LedgerComparison {
  const newest = collectionRoot(recorded);
  if (isSameRoot(newest, confirmed)) return { state: 'held' };
  const writes = newest.version - confirmed.version;
  return writes > 0
    ? { state: 'held in part', version: confirmed.version, writes }
    : contradicts(
        `The stored bytes give a different root for version ${confirmed.version} from the one on the ledger.`,
      );
}

function withoutRoot(account: LedgerAccount, { recorded }: StoredContent): LedgerComparison {
  const { version, vectorCount } = collectionRoot(recorded);
  if (account.status === 'found' && account.fields !== null)
    return notHeld(
      `It is no longer anchored: the ledger holds version ${account.fields.version}, the store ${version}.`,
    );
  // The collection was never written to, and no witness disagrees.
  return version === 0 && vectorCount === 0 ? { state: 'held' } : notHeld('The ledger has no root of it.');
}

/** Describes the result as a phrase. */
export function describeComparison(found: LedgerComparison): string {
  switch (found.state) {
    case 'held':
      return 'held';
    case 'held in part':
      return `held up to version ${found.version}, ${found.writes} writes since`;
    case 'contradicts':
      return `contradicts: ${found.why}`;
    case 'not held':
      return `not held: ${found.why}`;
  }
}
