/**
 * Namespaces are part of a record's key, so a collection with any number of them has one root, one
 * anchor and one verify. All layers below the API identify a record by its *stored id*: the plain
 * id in the default namespace, whose name is empty; otherwise U+0000, the namespace, U+0000, the
 * id. A namespace has no U+0000 and an id does not begin with it, so every stored id is
 * unambiguous. Versions before namespaces accepted any id; one that parses as neither form belongs
 * to no namespace, and only verify and the root include it.
 */
import { LIMITS } from '../limits.ts';
import type { RecordBatch } from './batch.ts';

const NAMESPACE_SEPARATOR = '\0';
/** Bytes of a stored id with the longest namespace and the longest id. */
export const STORED_ID_MAX_BYTES = LIMITS.namespaceMaxBytes + LIMITS.idMaxBytes + 2;
/** Sorts after every stored id with a namespace, and before every id of the default namespace. */
const AFTER_NAMESPACES = NAMESPACE_SEPARATOR + '\u{10ffff}'.repeat(LIMITS.namespaceMaxBytes);

export interface NamespacedId {
  namespace: string;
  id: string;
}

export function storedId(namespace: string, id: string): string {
  return namespace === '' ? id : NAMESPACE_SEPARATOR + namespace + NAMESPACE_SEPARATOR + id;
}

/** Returns the range of all stored ids after `after` (null: all). */
export const allRecordsRange = (after: string | null): { after: string | null; prefix: null } => ({
  after,
  prefix: null,
});

/** Returns the range of a namespace's stored ids after `after` (null: all), with `prefix`. */
export function storedRange(
  namespace: string,
  after: string | null,
  prefix = '',
): { after: string | null; prefix: string | null } {
  if (namespace !== '')
    return { after: after === null ? null : storedId(namespace, after), prefix: storedId(namespace, prefix) };
  return { after: after ?? AFTER_NAMESPACES, prefix: prefix === '' ? null : prefix };
}

/** Inverse of `storedId`; null for text that it never returns. */
export function parseStoredId(stored: string): NamespacedId | null {
  if (!stored.startsWith(NAMESPACE_SEPARATOR)) return { namespace: '', id: stored };
  const end = stored.indexOf(NAMESPACE_SEPARATOR, 1);
  const id = end < 0 ? '' : stored.slice(end + 1);
  return end < 2 || id === '' || id.startsWith(NAMESPACE_SEPARATOR) ? null : { namespace: stored.slice(1, end), id };
}

/** Returns the batch with stored ids. */
export function storedBatch(namespace: string, batch: RecordBatch): RecordBatch {
  return namespace === '' ? batch : { ...batch, ids: storedIds(namespace, batch.ids) };
}

export function storedIds(namespace: string, ids: string[]): string[] {
  return namespace === '' ? ids : ids.map((id) => storedId(namespace, id));
}

/**
 * Replaces stored ids by ids. With a null `namespace` the records may have different ones, and each
 * gets its `namespace`.
 */
export function withPlainIds<R extends { id: string; namespace?: string }>(
  namespace: string | null,
  records: R[],
): R[] {
  if (namespace === null) return records.map((record) => ({ ...record, ...parseStoredId(record.id) }));
  return namespace === '' ? records : records.map((record) => ({ ...record, id: plainId(namespace, record.id) }));
}

/** Returns the id of a record whose namespace is known. */
export function plainId(namespace: string, stored: string): string {
  return namespace === '' ? stored : stored.slice(namespace.length + 2);
}
