import { combineAll } from '../merkle/combine.ts';
import type { Cut } from './head.ts';

/** What a cut amounts to for the whole collection. */
export interface CollectionRoot {
  /** 64 hex digits. */
  merkleRoot: string;
  /**
   * How many writes are behind it, over all shards: it only grows, and a shard that is opened or
   * moved leaves it as it is.
   */
  version: number;
  vectorCount: number;
}

/** A root as the collection's account on the ledger shows it. */
export interface AnchoredRoot extends CollectionRoot {
  /**
   * Counts what was decided over the account's head: an operator's decisions, returns to anchoring,
   * and adoptions of a root that the store did not know to be confirmed. It only grows, with the
   * transaction that carries each out, so that nothing which the store says of the account before
   * fits it again.
   */
  decisions: number;
}

/** The collection's root at a cut (format PV1: the shards' subtrees joined by `combine`). */
export function collectionRoot(cut: Cut): CollectionRoot {
  let version = 0;
  let vectorCount = 0;
  for (const head of cut) {
    version += head.version;
    vectorCount += head.count;
  }
  return { merkleRoot: Buffer.from(combineAll(cut).hash).toString('hex'), version, vectorCount };
}

/** Whether both are of one version, with the same content. */
export const isSameRoot = (left: CollectionRoot, right: CollectionRoot): boolean => inWords(left) === inWords(right);

/** Whether both are the same root, after as many decisions. */
export const isSameAnchor = (left: AnchoredRoot, right: AnchoredRoot): boolean =>
  isSameRoot(left, right) && left.decisions === right.decisions;

/** As an account shows it, in words. */
export const anchorInWords = (root: AnchoredRoot): string => `${inWords(root)}, ${root.decisions} decisions`;

/** A root in words, the same for the same. */
const inWords = ({ version, merkleRoot, vectorCount }: CollectionRoot): string =>
  `${version} ${merkleRoot} ${vectorCount}`;
