/**
 * Applies one write of a group to the staging area, one record per step. A write is applied as a
 * whole or, if its outcome says `refused`, not at all.
 */
import { itemAt } from '../../../lib/checked-access.ts';
import { plainId } from '../../../lib/records/namespace.ts';
import type { RecordUpdate } from '../../../lib/shard/change.ts';
import type { FieldReport } from '../../../lib/shard/field-report.ts';
import type { Steps } from '../steps.ts';
import type { ShardWrite, WriteOutcome } from './port.ts';
import { mergeRecord } from './record-merge.ts';
import type { Staging } from './staging.ts';

export type MatchingWrite = Extract<ShardWrite, { filter: unknown }>;
type Write<K extends ShardWrite['kind']> = Extract<ShardWrite, { kind: K }>;

/** The records that a write by filter matches. `next` is set if more match than one round takes. */
export interface MatchedRecords {
  ids: string[];
  next?: { throughSeq: number };
  fields?: FieldReport | undefined;
}
export type FindMatching = (write: MatchingWrite) => Steps<MatchedRecords>;

interface Changed {
  id: string;
  vector: Float32Array;
  metadata: Buffer;
}

/** Throws RangeError for an ill-formed id, vector or metadata. */
export function* applyWrite(staging: Staging, write: ShardWrite, find: FindMatching): Steps<WriteOutcome> {
  switch (write.kind) {
    case 'upsert':
      return yield* upsert(staging, write);
    case 'delete':
      return yield* deleteIds(staging, write.ids);
    case 'update':
      return yield* update(staging, write.updates, write.metadataMaxBytes);
    case 'delete matching': {
      const { ids, ...more } = yield* find(write);
      return { ...(yield* deleteIds(staging, ids)), ...more, matched: ids.length };
    }
    case 'merge matching': {
      const { ids, ...more } = yield* find(write);
      const { set, unset, metadataMaxBytes } = write;
      const updates = ids.map((id) => ({
        id,
        values: null,
        set,
        unset,
        path: `the record ${JSON.stringify(plainId(write.namespace ?? '', id))}`,
      }));
      // The next round selects records older than this round. So this round must also rewrite the
      // records it leaves unchanged, or they would match again.
      const isKept = more.next === undefined;
      return { ...(yield* update(staging, updates, metadataMaxBytes, isKept)), ...more };
    }
  }
}

function* upsert(staging: Staging, { batch }: Write<'upsert'>): Steps<WriteOutcome> {
  const outcome = { upserted: 0, deleted: 0, created: 0 };
  const { ids, vectors, metadata, dimensions } = batch;
  for (const [i, id] of ids.entries()) {
    const vector = vectors.subarray(i * dimensions, (i + 1) * dimensions);
    const text = itemAt(metadata, i);
    if (!text.isWellFormed()) throw new RangeError('Metadata must be well-formed Unicode.');
    if (staging.upsert(id, vector, Buffer.from(text))) outcome.created++;
    outcome.upserted++;
    yield 'staging';
  }
  return outcome;
}

function* deleteIds(staging: Staging, ids: readonly string[]): Steps<WriteOutcome> {
  let deleted = 0;
  for (const id of ids) {
    if (staging.delete(id)) deleted++;
    yield 'staging';
  }
  return { upserted: 0, deleted, created: 0 - deleted };
}

/**
 * Updates records by id; no id may occur twice. Merges into the state the group has staged so far.
 * Unchanged records are rewritten only if `isKept` is false.
 */
function* update(
  staging: Staging,
  updates: readonly RecordUpdate[],
  maxBytes: number,
  isKept = true,
): Steps<WriteOutcome> {
  const changes: Changed[] = [];
  let [matched, same] = [0, 0];
  for (const { id, path, ...merge } of updates) {
    yield 'staging';
    const current = staging.current(id);
    if (current === null) continue;
    matched++;
    const { metadata, isSame, refused } = mergeRecord(current, merge, maxBytes);
    if (refused) return { upserted: 0, deleted: 0, created: 0, matched, refused: { path, ...refused } };
    if (isSame) same++;
    // Copied, because staging may move the bytes that the view refers to.
    if (!isSame || !isKept) changes.push({ id, vector: merge.values ?? current.vector.slice(), metadata });
  }
  for (const { id, vector, metadata } of changes) {
    staging.upsert(id, vector, metadata);
    yield 'staging';
  }
  return { upserted: matched - same, deleted: 0, created: 0, matched };
}
