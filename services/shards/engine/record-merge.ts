import canonicalize from 'canonicalize';
import type { ErrorDetail } from '../../../lib/errors.ts';
import type { MetadataMerge, RecordUpdate } from '../../../lib/shard/change.ts';
import { metadataObject } from './filter/metadata-object.ts';

/** What an update makes of one record. */
export interface MergedRecord {
  /** Canonical JSON. */
  metadata: Buffer;
  /** Whether it leaves the record as it is. */
  isSame: boolean;
  /** Why it may not become so; null when it may. */
  refused: Omit<ErrorDetail, 'path'> | null;
}

/** Metadata may stay as long as it is, whatever the limit is by now. */
export function mergeRecord(
  current: { vector: Float32Array; metadata: Buffer },
  { values, set, unset }: Pick<RecordUpdate, 'values' | 'set' | 'unset'>,
  maxBytes: number,
): MergedRecord {
  const metadata = merged(current.metadata, { set, unset });
  const isTooLong = metadata.length > maxBytes && metadata.length > current.metadata.length;
  return {
    metadata,
    isSame: metadata.equals(current.metadata) && (values === null || isEqual(values, current.vector)),
    refused: isTooLong
      ? {
          expected: `metadata of at most ${maxBytes} bytes as compact JSON once merged`,
          got: `${metadata.length} bytes`,
        }
      : null,
  };
}

/** By how many bytes a merge can lengthen metadata at most. */
export function growthMaxBytes({ set }: MetadataMerge): number {
  return set === null ? 0 : Buffer.byteLength(set);
}

/** Canonical JSON of what is there with what is set, and without what is not. */
function merged(metadata: Buffer, { set, unset }: MetadataMerge): Buffer {
  const members = new Map(Object.entries(metadataObject(metadata)));
  for (const key of unset) members.delete(key);
  if (set !== null) for (const [key, value] of Object.entries(JSON.parse(set))) members.set(key, value);
  // Not assigned one by one: a key may be `__proto__`.
  return Buffer.from(canonicalize(Object.fromEntries(members))!);
}

const isEqual = (a: Float32Array, b: Float32Array): boolean => a.every((value, at) => Object.is(value, b[at]));
