import { keyHashOf, leafHashOf, metaHashOf, vecHashOf } from '../../client/verify/content-hash.ts';
import type { LeafTable } from '../../client/verify/leaf-table.ts';
import { type Issue, losesRecord } from '../sources/issues.ts';
import type { Metric, SourceRecord } from '../sources/port.ts';
import { PlainMetadata } from './plain-metadata.ts';

const ID_MAX_BYTES = 512;
const NAMESPACE_MAX_BYTES = 512;

/** What the records become. */
export interface Target {
  dimensions: number;
  metric: Metric;
  /** Namespace of records for which the source names none. */
  namespace: string;
}

/** A record as it is sent, with its hashes. */
export interface MovedRecord {
  id: string;
  namespace: string;
  values: ArrayLike<number>;
  metadata: object;
  key: Uint8Array;
  leaf: Uint8Array;
}

export interface CheckedRecord {
  /** Null if it cannot be moved. */
  record: MovedRecord | null;
  issues: readonly Issue[];
  /** Whether a list of its metadata has objects, which no filter finds. */
  hasObjectsInLists: boolean;
}

/** Makes records of a source into records of Provec, and says what that would lose. */
export class RecordChecker {
  readonly #target: Target;
  readonly #leaves: LeafTable;

  /** `leaves`: the records that came before. The checker adds those that can be moved. */
  constructor(target: Target, leaves: LeafTable) {
    this.#target = target;
    this.#leaves = leaves;
  }

  check({
    id,
    namespace = this.#target.namespace,
    values,
    metadata,
    fields = {},
    issues = [],
  }: SourceRecord): CheckedRecord {
    const plain = new PlainMetadata(metadata, fields);
    const vector = values === null ? [] : numbersIn(values);
    const found = [
      ...new Set([...issues, ...plain.issues, ...nameIssues(id, namespace), ...this.#vectorIssues(values, vector)]),
    ];
    const { hasObjectsInLists, content } = plain;
    if (found.some(losesRecord)) return { record: null, issues: found, hasObjectsInLists };
    const key = keyHashOf(id, namespace);
    const leaf = leafHashOf(key, vecHashOf(vector), metaHashOf(content));
    if (!this.#leaves.add(key, leaf)) return { record: null, issues: [...found, 'repeated-id'], hasObjectsInLists };
    return {
      record: { id, namespace, values: vector, metadata: content, key, leaf },
      issues: found,
      hasObjectsInLists,
    };
  }

  #vectorIssues(values: SourceRecord['values'], vector: ArrayLike<number>): Issue[] {
    if (values === null) return ['no-vector'];
    if (vector.length !== this.#target.dimensions) return ['other-dimensions'];
    let isZero = true;
    for (let at = 0; at < vector.length; at++) {
      const value = Math.fround(vector[at]!);
      if (!Number.isFinite(value)) return ['non-finite-vector'];
      if (value !== 0) isZero = false;
    }
    return isZero && this.#target.metric === 'cosine' ? ['zero-vector'] : [];
  }
}

/** Returns the numbers of a vector. What is no number, such as null, becomes NaN. */
function numbersIn(values: ArrayLike<number | bigint>): ArrayLike<number> {
  if (ArrayBuffer.isView(values)) return values as unknown as Float32Array;
  const isNumbers = Array.isArray(values) && values.every((value) => typeof value === 'number');
  if (isNumbers) return values as number[];
  return Array.from(values, (value) =>
    typeof value === 'number' || typeof value === 'bigint' ? Number(value) : Number.NaN,
  );
}

function nameIssues(id: string, namespace: string): Issue[] {
  const isId = id.isWellFormed() && !id.startsWith('\0') && id !== '' && Buffer.byteLength(id) <= ID_MAX_BYTES;
  const isNamespace =
    namespace.isWellFormed() && !namespace.includes('\0') && Buffer.byteLength(namespace) <= NAMESPACE_MAX_BYTES;
  return [...(isId ? [] : ['invalid-id' as const]), ...(isNamespace ? [] : ['invalid-namespace' as const])];
}
