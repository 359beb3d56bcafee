import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

/**
 * Real embeddings with metadata and exact answers; `manifest.json` in their folder describes them.
 */
export interface Dataset {
  dims: number;
  ids: string[];
  metadata: Record<string, unknown>[];
  /** Row-major. */
  base: Float32Array;
  queries: Float32Array[];
  filters: { name: string; filter: Record<string, unknown>; matching: number }[];
}

/** Folder of the data set: PROVEC_TEST_DATA, else `../shared/data/debian`. */
const FOLDER = resolve(process.env.PROVEC_TEST_DATA ?? join(import.meta.dirname, '../../shared/data/debian'));

function readFloat16(path: string): Float32Array {
  const bytes = readFileSync(path);
  return Float32Array.from(new Float16Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / 2));
}

/** Reads the first `most` rows. Throws if there is no data set. */
export function readDataset(most: number): Dataset {
  if (!existsSync(join(FOLDER, 'base.f16'))) throw new Error('No data set: set PROVEC_TEST_DATA to its folder.');
  const { n, dims } = JSON.parse(readFileSync(join(FOLDER, 'manifest.json'), 'utf8')) as { n: number; dims: number };
  const count = Math.min(n, most);
  const lines = readFileSync(join(FOLDER, 'meta.jsonl'), 'utf8').split('\n', count);
  const rows = lines.map((line) => JSON.parse(line) as { id: string; metadata: Record<string, unknown> });
  const queries = readFloat16(join(FOLDER, 'queries.f16'));
  return {
    dims,
    ids: rows.map(({ id }) => id),
    metadata: rows.map(({ metadata }) => metadata),
    base: readFloat16(join(FOLDER, 'base.f16')).subarray(0, count * dims),
    queries: Array.from({ length: queries.length / dims }, (_, at) => queries.subarray(at * dims, (at + 1) * dims)),
    filters: JSON.parse(readFileSync(join(FOLDER, 'filters.json'), 'utf8')),
  };
}

/** Returns rows `from` to `to` (exclusive) as records of an upsert. */
export function recordsOf({ base, dims, ids, metadata }: Dataset, from: number, to: number): object[] {
  return ids.slice(from, to).map((id, at) => {
    const row = from + at;
    return { id, values: Array.from(base.subarray(row * dims, (row + 1) * dims)), metadata: metadata[row] };
  });
}

/** Returns a request body for each query of the data set; `options` are its other fields. */
export const queryBodies = ({ queries }: Dataset, options: object = {}): Buffer[] =>
  queries.map((query) => Buffer.from(JSON.stringify({ vector: Array.from(query), topK: 10, ...options })));

/**
 * Returns the exact cosine scores of the `k` best rows that `allowed` accepts, best first. Vectors
 * have unit length.
 */
export function exactTop(
  data: Dataset,
  query: Float32Array,
  k: number,
  allowed: (row: number) => boolean,
): { row: number; score: number }[] {
  const best: { row: number; score: number }[] = [];
  for (let row = 0; row < data.ids.length; row++) {
    if (!allowed(row)) continue;
    const score = cosine(data, query, row);
    if (best.length === k && score <= best[k - 1]!.score) continue;
    let at = best.length;
    while (at > 0 && best[at - 1]!.score < score) at--;
    best.splice(at, 0, { row, score });
    if (best.length > k) best.pop();
  }
  return best;
}

/** Exact cosine similarity of a query and a row. */
export function cosine(data: Dataset, query: Float32Array, row: number): number {
  let dot = 0;
  let a = 0;
  let b = 0;
  for (let at = 0, from = row * data.dims; at < data.dims; at++) {
    const q = query[at]!;
    const v = data.base[from + at]!;
    dot += q * v;
    a += q * q;
    b += v * v;
  }
  return dot / Math.sqrt(a * b);
}
