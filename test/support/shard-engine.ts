import canonicalize from 'canonicalize';
import { itemAt, lastOf } from '../../lib/checked-access.ts';
import { parseFilter } from '../../lib/filter/parse.ts';
import { LIMITS } from '../../lib/limits.ts';
import type { JsonObject } from '../../lib/records/fields.ts';
import type { FetchedRecord, QueryOptions, ShardMatch } from '../../lib/shard/match.ts';
import type { ShardProof } from '../../lib/shard/proof.ts';
import type { ShardSpec } from '../../lib/shard/spec.ts';
import type {
  ReadResult,
  ShardQuery,
  ShardSnapshot,
  ShardWrite,
  ShardWriter,
  Staged,
} from '../../services/shards/engine/port.ts';
import { type EngineOptions, Shard } from '../../services/shards/engine/shard.ts';
import { oneStep, runThrough, type Steps } from '../../services/shards/steps.ts';
import type { FetchedCheckpoint } from '../../store/checkpoints.ts';
import { naiveMatches } from './naive-filter.ts';
import { referenceLeaf, referenceRoot } from './reference-root.ts';

export interface TestRecord {
  values: number[];
  metadata: Record<string, unknown>;
}

export function specWith(changes: Partial<ShardSpec> = {}): ShardSpec {
  const identity = { collectionId: 'c', accountId: 'a', index: 0, of: 1 };
  return { ...identity, dimensions: 4, metric: 'cosine', quantization: 'bf16', ...changes };
}

/** A shard query, and its filter as a client sends it. */
export interface TestQuery extends ShardQuery {
  sent: JsonObject | null;
}

export function queryWith(
  vector: ArrayLike<number>,
  { filter = null, ...changes }: Partial<Omit<QueryOptions, 'filter'>> & { filter?: JsonObject | null } = {},
): TestQuery {
  return {
    vector: Float32Array.from(vector),
    topK: 10,
    filter: filter === null ? null : parseFilter(filter, LIMITS),
    sent: filter,
    includeValues: false,
    includeMetadata: false,
    scoreThreshold: null,
    exact: false,
    ...changes,
  };
}

export function upsertOf(records: Iterable<[string, TestRecord]>, dimensions: number): ShardWrite {
  const all = [...records];
  return {
    kind: 'upsert',
    batch: {
      ids: all.map(([id]) => id),
      dimensions,
      vectors: Float32Array.from(all.flatMap(([, { values }]) => values)),
      metadata: all.map(([, { metadata }]) => canonicalize(metadata) as string),
    },
  };
}

/** Stages writes without a pause. */
export function stageIn(shard: ShardWriter, writes: ShardWrite[]): Staged {
  return runThrough(shard.stage(writes));
}

/** Reads the newest state without a pause. */
export function readIn<T>(shard: ShardWriter, read: (snapshot: ShardSnapshot) => Steps<T>): T {
  const snapshot = shard.snapshot();
  try {
    return runThrough(read(snapshot));
  } finally {
    snapshot.release();
  }
}

/** Returns all items of an answer, and releases it. */
export function itemsOf<T>(answer: ReadResult<T>): T[] {
  const items = Array.from({ length: answer.length }, () => answer.next());
  answer.release();
  return items;
}

/** Runs a query without a pause; best matches first. */
export function queryIn(shard: ShardWriter, query: ShardQuery): ShardMatch[] {
  return itemsOf(readIn(shard, (snapshot) => snapshot.query(query)));
}

/** Returns the existing records, in the order of `ids`. */
export function fetchFrom(shard: ShardWriter, ids: string[]): FetchedRecord[] {
  return itemsOf(readIn(shard, (snapshot) => snapshot.fetch(ids)));
}

/** Returns the ids of all records. */
export function idsIn(shard: ShardWriter): string[] {
  return readIn(shard, (snapshot) => oneStep(() => [...snapshot.ids()].map(({ id }) => id)));
}

export function leafIn(shard: ShardWriter, id: string): { leaf: Buffer; seq: number } | null {
  return readIn(shard, (snapshot) => oneStep(() => snapshot.leafOf(id)));
}

export function proveIn(shard: ShardWriter, id: string): ShardProof {
  return readIn(shard, (snapshot) => snapshot.prove(id));
}

/** Writes a checkpoint into an empty folder, without a pause. */
export function saveTo(folder: string, shard: ShardWriter): void {
  runThrough(shard.checkpoint(folder));
}

/** Loads a checkpoint without a pause. */
export function loadFrom(checkpoint: FetchedCheckpoint, spec: ShardSpec, options: EngineOptions = {}): Shard {
  return runThrough(Shard.load(checkpoint, spec, options));
}

/** Writes a group as a shard's owner does, and returns its log entry. */
export function write(shard: ShardWriter, ...writes: ShardWrite[]) {
  const { commit } = stageIn(shard, writes);
  if (commit === null) return null;
  shard.commit();
  return { seq: commit.head.seq, head: commit.head, body: commit.body };
}

/** Runs the engine's background work to completion. */
export function settle(shard: ShardWriter): void {
  while (shard.maintain(50));
}

/** Reference model of a shard: a plain map, with scores and roots computed by independent code. */
export class Model {
  readonly records = new Map<string, TestRecord>();
  readonly spec: ShardSpec;

  constructor(spec: ShardSpec) {
    this.spec = spec;
  }

  apply(write: ShardWrite): void {
    if (write.kind === 'delete') {
      for (const id of write.ids) this.records.delete(id);
      return;
    }
    if (write.kind !== 'upsert') throw new Error(`The reference does not know ${write.kind}.`);
    const { ids, vectors, metadata, dimensions } = write.batch;
    ids.forEach((id, i) => {
      const values = [...vectors.subarray(i * dimensions, (i + 1) * dimensions)];
      this.records.set(id, { values, metadata: JSON.parse(itemAt(metadata, i)) });
    });
  }

  root(): string {
    return referenceRoot([...this.records].map(([id, { values, metadata }]) => referenceLeaf(id, values, metadata)));
  }

  query({ vector, topK, sent, scoreThreshold }: TestQuery): { id: string; score: number }[] {
    const found: { id: string; score: number }[] = [];
    for (const [id, { values, metadata }] of this.records) {
      if (sent !== null && !naiveMatches(sent, metadata)) continue;
      const score = referenceScore(this.spec.metric, vector, values);
      if (scoreThreshold === null || score >= scoreThreshold) found.push({ id, score });
    }
    found.sort((a, b) => b.score - a.score || Buffer.compare(Buffer.from(a.id), Buffer.from(b.id)));
    return found.slice(0, topK);
  }
}

export const SMALL_GRAPH: EngineOptions = { graphMinRecords: 64, scanCostFactor: 1_000 };

/**
 * A shard that builds its graph at 64 records and prefers it to scans, so that small tests use it.
 */
export function smallGraphShard(spec: ShardSpec, options: EngineOptions = {}): Shard {
  return new Shard(spec, { ...SMALL_GRAPH, ...options });
}

/**
 * Recall: the share of `exact` (the true best) that `found` reaches. A match counts if its score is
 * within 1e-5 of the last true one, or better.
 */
export function recallOf(found: ShardMatch[], exact: ShardMatch[]): number {
  if (exact.length === 0) return 1;
  const last = lastOf(exact).score - 1e-5;
  return found.filter(({ score }) => score >= last).length / exact.length;
}

export function rootOf(shard: ShardWriter): string {
  return Buffer.from(shard.head.hash).toString('hex');
}

function referenceScore(metric: ShardSpec['metric'], a: ArrayLike<number>, b: ArrayLike<number>): number {
  let product = 0;
  let squareA = 0;
  let squareB = 0;
  let apart = 0;
  for (let i = 0; i < a.length; i++) {
    const [x, y] = [itemAt(a, i), itemAt(b, i)];
    product += x * y;
    squareA += x * x;
    squareB += y * y;
    apart += (x - y) ** 2;
  }
  if (metric === 'dot') return product;
  if (metric === 'euclidean') return 1 / (1 + Math.sqrt(apart));
  return squareA === 0 || squareB === 0 ? 0 : product / Math.sqrt(squareA * squareB);
}

/**
 * Number of `found` matches whose score reaches that of the last of the true `best` rows within
 * 1e-5, at most the number of rows. The data set has unit vectors.
 */
export function matchesInTruth(
  found: ShardMatch[],
  best: number[],
  { vectors, dimensions }: { vectors: Float32Array; dimensions: number },
  query: Float32Array,
): number {
  if (best.length === 0) return 0;
  const row = lastOf(best);
  const last = referenceScore('cosine', query, vectors.subarray(row * dimensions, (row + 1) * dimensions));
  return Math.min(best.length, found.filter(({ score }) => score >= last - 1e-5).length);
}
