import canonicalize from 'canonicalize';
import type { ErrorDetail } from '../../../lib/errors.ts';
import { type MetadataMerge, type RecordUpdate, tooLongOnceMerged } from '../../../lib/shard/change.ts';
import { metadataObject } from './filter/metadata-object.ts';

export interface MergedRecord {
  /** Canonical JSON. */
  metadata: Buffer;
  /** Whether the update leaves the record unchanged. */
  isSame: boolean;
  /** Why the update is not allowed, or null if it is. */
  refused: Omit<ErrorDetail, 'path'> | null;
}

/**
 * Applies an update to a record. Metadata over the limit is allowed if it does not grow, because
 * the limit may have been higher when it was written.
 */
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
    refused: isTooLong ? tooLongOnceMerged(maxBytes, `${metadata.length} bytes`) : null,
  };
}

/** Returns the most bytes by which a merge can lengthen metadata. */
export function growthMaxBytes({ set }: MetadataMerge): number {
  return set === null ? 0 : Buffer.byteLength(set);
}

/** Returns the merged metadata as canonical JSON. */
function merged(metadata: Buffer, { set, unset }: MetadataMerge): Buffer {
  const members = new Map(Object.entries(metadataObject(metadata)));
  for (const key of unset) members.delete(key);
  if (set !== null) for (const [key, value] of Object.entries(JSON.parse(set))) members.set(key, value);
  // Built from entries, because assigning a key `__proto__` would set the prototype.
  return Buffer.from(canonicalize(Object.fromEntries(members))!);
}

const isEqual = (a: Float32Array, b: Float32Array): boolean => a.every((value, at) => Object.is(value, b[at]));
