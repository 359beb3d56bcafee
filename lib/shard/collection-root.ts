import { combineAll } from '../merkle/combine.ts';
import type { Cut } from './shard-head.ts';

/** What a cut amounts to for the whole collection. */
export interface CollectionRoot {
  /** 64 hex digits. */
  merkleRoot: string;
  /** How many writes are behind it, over all shards: it only grows, and a shard that is opened or moved leaves it as it is. */
  version: number;
  vectorCount: number;
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

/** A root in words, the same for the same. */
export const inWords = ({ version, merkleRoot, vectorCount }: CollectionRoot): string =>
  `${version} ${merkleRoot} ${vectorCount}`;
