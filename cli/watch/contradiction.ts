import type { Api } from '../../client/index.ts';

/** A root, and the version that it belongs to. */
interface Root {
  version: number;
  merkleRoot: string;
}

/** What a watch has seen of a collection so far. */
export interface Seen extends Root {
  name: string;
  /** Newest root on the ledger; null if there was none. */
  anchor: Root | null;
  /** ISO 8601 UTC; absent before the first verification. */
  verifiedAt?: string;
  isDeleted?: boolean;
}

/** A collection now, and its anchors from the newest to the one that was seen before, or all. */
export interface Look {
  detail: Api.CollectionDetail;
  anchors: readonly Api.Anchor[];
}

/** Why writes alone cannot have led from the state seen before to the present one. */
export interface Contradiction {
  reason: 'version-went-back' | 'root-changed' | 'anchor-gone' | 'ledger-differs' | 'mismatch';
  message: string;
}

/**
 * Returns why what the service says now contradicts what it said before, or what it recorded
 * itself.
 */
export function contradictionIn(seen: Seen | undefined, { detail, anchors }: Look): Contradiction | null {
  const byHistory =
    seen && (anchorContradiction(seen.anchor, detail.anchor, anchors) ?? contentContradiction(seen, detail));
  if (byHistory != null || detail.anchor.status !== 'halted') return byHistory ?? null;
  const message = 'its anchoring is halted: what is stored, or the ledger, contradicts what Provec recorded';
  return { reason: 'mismatch', message };
}

function anchorContradiction(
  seen: Root | null,
  now: Api.CollectionDetail['anchor'],
  anchors: readonly Api.Anchor[],
): Contradiction | null {
  if (seen === null) return null;
  if (now.version === null || now.version < seen.version)
    return {
      reason: 'version-went-back',
      message: `the newest anchor was of version ${seen.version}, and is of ${now.version ?? 'none'} now`,
    };
  const same = anchors.find(({ version }) => version === seen.version);
  if (same === undefined)
    return { reason: 'anchor-gone', message: `the anchor of version ${seen.version} is not listed any more` };
  if (same.merkleRoot !== seen.merkleRoot) return otherRoot('the anchor', seen, same);
  // The service reports the newest anchor twice.
  return now.version === seen.version && now.merkleRoot !== seen.merkleRoot
    ? otherRoot('the newest anchor', seen, { merkleRoot: `${now.merkleRoot}` })
    : null;
}

function contentContradiction(seen: Root, { version, merkleRoot, shards }: Api.CollectionDetail): Contradiction | null {
  if (version < seen.version)
    return {
      reason: 'version-went-back',
      message: `the collection was at version ${seen.version}, and is at ${version} now`,
    };
  // With several shards a version is a sum, so two states may have the same version.
  const isOther = shards === 1 && version === seen.version && merkleRoot !== seen.merkleRoot;
  return isOther ? otherRoot('the collection', seen, { merkleRoot }) : null;
}

const otherRoot = (what: string, { version, merkleRoot }: Root, now: { merkleRoot: string }): Contradiction => ({
  reason: 'root-changed',
  message: `${what} of version ${version} had the root ${merkleRoot}, and has ${now.merkleRoot} now`,
});
