import { combineAll } from '../merkle/combine.ts';
import type { Cut } from './shard-head.ts';

/** What a cut amounts to for the whole collection. */
export interface CollectionRoot {
  /** 64 hex digits. */
  merkleRoot: string;
  /** Sum of the seqs, so that it only grows. */
  version: number;
  vectorCount: number;
}

/** The collection's root at a cut (format PV1: the shards' subtrees joined by `combine`). */
export function collectionRoot(cut: Cut): CollectionRoot {
  let version = 0;
  let vectorCount = 0;
  for (const head of cut) {
    version += head.seq;
    vectorCount += head.count;
  }
  return { merkleRoot: Buffer.from(combineAll(cut).hash).toString('hex'), version, vectorCount };
}
