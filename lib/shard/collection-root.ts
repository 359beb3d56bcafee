import { combineAll } from '../merkle/combine.ts';
import type { Cut } from './head.ts';

/** The state of a whole collection at a cut. */
export interface CollectionRoot {
  /** 64 hex digits. */
  merkleRoot: string;
  /** Number of writes over all shards. It never decreases and survives reopening. */
  version: number;
  vectorCount: number;
}

/** A root as read from the collection's account on the ledger. */
export interface AnchoredRoot extends CollectionRoot {
  /**
   * Number of decisions that replaced the account's head: operators' decisions, returns to
   * anchoring, and adoptions of a root that the store did not know to be confirmed. Each raises it
   * in its transaction, so that no earlier stored state of the account can match again.
   */
  decisions: number;
}

/** Computes the collection's root at a cut (format PV1: `combine` over the shards' subtrees). */
export function collectionRoot(cut: Cut): CollectionRoot {
  let version = 0;
  let vectorCount = 0;
  for (const head of cut) {
    version += head.version;
    vectorCount += head.count;
  }
  return { merkleRoot: Buffer.from(combineAll(cut).hash).toString('hex'), version, vectorCount };
}

/** Whether both have the same version and content. */
export const isSameRoot = (left: CollectionRoot, right: CollectionRoot): boolean => rootText(left) === rootText(right);

/** Whether both are the same root after the same number of decisions. */
export const isSameAnchor = (left: AnchoredRoot, right: AnchoredRoot): boolean =>
  isSameRoot(left, right) && left.decisions === right.decisions;

/** Describes an account's content as text. */
export const anchorText = (root: AnchoredRoot): string => `${rootText(root)}, ${root.decisions} decisions`;

/** Describes a root as text; equal roots have equal texts. */
const rootText = ({ version, merkleRoot, vectorCount }: CollectionRoot): string =>
  `${version} ${merkleRoot} ${vectorCount}`;
