/**
 * Namespaces are part of a record's key, so that a collection with any number of them has one root,
 * one anchor and one verify. Everything below the API knows a record by its *stored id*: in the
 * default namespace, whose name is empty, the id as it is, else U+0000, the namespace, U+0000, the
 * id. Neither a namespace nor the beginning of an id may be U+0000, so each stored id has one
 * reading. One that has none (versions before namespaces took any id) is of no namespace: nothing
 * finds it but verify and the root.
 */
import { LIMITS } from '../limits.ts';
import type { RecordBatch } from './batch.ts';

const MARK = '\0';
/** Of the longest namespace and the longest id. */
export const STORED_ID_MAX_BYTES = LIMITS.namespaceMaxBytes + LIMITS.idMaxBytes + 2;
/** Behind the longest name of the highest characters, and before the first id without a mark. */
const AFTER_NAMESPACES = MARK + '\u{10ffff}'.repeat(LIMITS.namespaceMaxBytes);

export interface NamespacedId {
  namespace: string;
  id: string;
}

/** The id under which a record is stored. */
export function storedId(namespace: string, id: string): string {
  return namespace === '' ? id : MARK + namespace + MARK + id;
}

/** Range of all stored ids that come after `after` (null: all). */
export const wholeRange = (after: string | null): { after: string | null; prefix: null } => ({ after, prefix: null });

/**
 * Where the ids of a namespace lie in the order of stored ids, in UTF-8 bytes: those after `after`
 * (null: all) that begin with `prefix`.
 */
export function storedRange(
  namespace: string,
  after: string | null,
  prefix = '',
): { after: string | null; prefix: string | null } {
  if (namespace !== '')
    return { after: after === null ? null : storedId(namespace, after), prefix: storedId(namespace, prefix) };
  return { after: after ?? AFTER_NAMESPACES, prefix: prefix === '' ? null : prefix };
}

/** What `storedId` was given; null for what it never gives. */
export function readStoredId(stored: string): NamespacedId | null {
  if (!stored.startsWith(MARK)) return { namespace: '', id: stored };
  const end = stored.indexOf(MARK, 1);
  const id = end < 0 ? '' : stored.slice(end + 1);
  return end < 2 || id === '' || id.startsWith(MARK) ? null : { namespace: stored.slice(1, end), id };
}

/** The records as they are stored. */
export function storedBatch(namespace: string, batch: RecordBatch): RecordBatch {
  return namespace === '' ? batch : { ...batch, ids: storedIds(namespace, batch.ids) };
}

export function storedIds(namespace: string, ids: string[]): string[] {
  return namespace === '' ? ids : ids.map((id) => storedId(namespace, id));
}

/** Records of `namespace` by their own ids; null: of any, each with its namespace. */
export function withoutNamespace<R extends { id: string; namespace?: string }>(
  namespace: string | null,
  records: R[],
): R[] {
  if (namespace === null) return records.map((record) => ({ ...record, ...readStoredId(record.id) }));
  return namespace === '' ? records : records.map((record) => ({ ...record, id: idIn(namespace, record.id) }));
}

/** The id of a record that is known to be of `namespace`. */
export function idIn(namespace: string, stored: string): string {
  return namespace === '' ? stored : stored.slice(namespace.length + 2);
}
