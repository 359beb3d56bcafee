/**
 * Holds a collection against its account on the ledger, which nobody writes without the ledger's
 * keypair: what of it is what was written, now that no seal says so.
 *
 * Its row of anchors is sealed with a key from that keypair, and says at which seqs of its shards
 * the root on the ledger was. So the stored bytes, every leaf hashed again, are brought to those
 * seqs and must give that root; what the log holds after them is vouched for by nothing. Whatever
 * cannot be explained contradicts.
 */
import type { Logger } from 'pino';
import { collectionRoot, isSameAnchor, isSameRoot } from '../../lib/shard/collection-root.ts';
import type { Cut } from '../../lib/shard/head.ts';
import type { AnchorRow, AnchorStore, Confirmed } from '../../lib/store/anchors.ts';
import type { CollectionRow } from '../../lib/store/catalog.ts';
import type { LedgerClient } from '../../services/anchoring/ledger/ledger-client.ts';
import type { AccountState } from '../../services/anchoring/ledger/rpc-responses.ts';
import { type SealedAnchors, sealed } from '../../services/anchoring/outbox/row-seal.ts';
import { reconcile, shownBy } from '../../services/anchoring/recovery/reconciliation.ts';
import { type Content, contentOf, type Stored } from './content.ts';

/** What the ledger says of a collection. */
export type Held =
  | { state: 'held' }
  /** Up to a version; so many writes came since. */
  | { state: 'held in part'; version: number; writes: number }
  | { state: 'contradicts'; why: string }
  | { state: 'not held'; why: string };

/** What a collection can be held against. */
export interface Witness {
  ledger: Pick<LedgerClient, 'survey'>;
  anchors: SealedAnchors;
}

const notHeld = (why: string): Held => ({ state: 'not held', why });
const contradicts = (why: string): Held => ({ state: 'contradicts', why });
const QUIET: Pick<Logger, 'error'> = { error: () => undefined };

/** The ledger, and the rows of anchors under the key that follows from its keypair. */
export function witnessOf(ledger: LedgerClient, anchors: AnchorStore, sealKey: Uint8Array): Witness {
  return { ledger, anchors: sealed(anchors, sealKey, () => Date.now(), QUIET) };
}

/**
 * A collection without a witness: only whether its bytes are what its own log says. `why` it has
 * none. Throws StoreError.
 */
export async function heldAgainstItself(store: Stored, collection: CollectionRow, why: string): Promise<Held> {
  const { contradiction } = await contentOf(store, collection, null);
  return contradiction === null ? notHeld(why) : contradicts(contradiction);
}

/** Throws StoreError, or LedgerUnreachableError where the ledger does not say what it holds. */
export async function held(store: Stored, collection: CollectionRow, witness: Witness): Promise<Held> {
  const { ledger, anchors } = witness;
  const row = await anchors.get(collection.id);
  const isUnsound = anchors.unsound.has(collection.id);
  const { account } = await ledger.survey(collection.id, isUnsound ? null : row);
  const confirmed = isUnsound || row === null ? null : confirmedBy(account, row);
  if (confirmed && confirmed.cut.length !== collection.shards)
    return contradicts(`It has ${collection.shards} shards, but the root on the ledger is of ${confirmed.cut.length}.`);
  const content = await contentOf(store, collection, confirmed?.cut ?? null);
  if (content.contradiction !== null) return contradicts(content.contradiction);
  if (isUnsound) return notHeld('What the store says of its anchors was not written under this keypair.');
  if (row?.trusted && row.trusted === shownBy(account))
    return notHeld("An operator's decision over what the ledger holds has yet to be anchored.");
  const finding = await reconcile(account, {
    confirmed,
    lapsed: row?.lapsed ?? null,
    logged: content.recorded,
    headsAt: async () => content.atCut,
  });
  if (finding.outcome === 'halt') return contradicts(finding.reason);
  if (finding.outcome === 'unsaid')
    return contradicts('What is stored begins after the root that was confirmed on the ledger, or ends before it.');
  if (finding.outcome === 'adopt') return { state: 'held' };
  return confirmed ? heldUpTo(confirmed, content) : withoutRoot(account, content);
}

/**
 * What is on the ledger, as the row has it: the root that was confirmed last, or the one that was
 * on its way when the service ended.
 */
function confirmedBy(account: AccountState, { confirmed, inFlight }: AnchorRow): Confirmed | null {
  const cut: Cut | null = inFlight?.cut ?? null;
  if (cut === null || account.status !== 'found' || account.fields === null) return confirmed;
  const sent = { ...collectionRoot(cut), decisions: inFlight!.decisions };
  return isSameAnchor(account.fields, sent) ? { ...sent, cut, signature: '', confirmedAt: '' } : confirmed;
}

function heldUpTo(confirmed: Confirmed, { recorded }: Content): Held {
  const newest = collectionRoot(recorded);
  if (isSameRoot(newest, confirmed)) return { state: 'held' };
  const writes = newest.version - confirmed.version;
  return writes > 0
    ? { state: 'held in part', version: confirmed.version, writes }
    : contradicts(
        `The stored bytes give a different root for version ${confirmed.version} from the one on the ledger.`,
      );
}

function withoutRoot(account: AccountState, { recorded }: Content): Held {
  const { version, vectorCount } = collectionRoot(recorded);
  if (account.status === 'found' && account.fields !== null)
    return notHeld(
      `It is no longer anchored: the ledger holds version ${account.fields.version}, the store ${version}.`,
    );
  // Nothing was ever written to it, and nobody says otherwise.
  return version === 0 && vectorCount === 0 ? { state: 'held' } : notHeld('The ledger has no root of it.');
}

/** In a sentence. */
export function inWords(found: Held): string {
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
