import { float64At } from '../../../../lib/checked-access.ts';
import { instantiate } from '../../../../lib/records/kernel/wasm-module.ts';
import { SIMILARITY_WASM } from './similarity-wasm.ts';

/** Limits of the kernel's memory. The rows fit into a processor's L1 cache. */
const DIMENSIONS_MAX = 8_192;
const ROWS_BYTES = 64 * 1024;
const ROWS_MAX = 32;
const ROWS_AT = DIMENSIONS_MAX * Float64Array.BYTES_PER_ELEMENT;
const RESULTS_AT = ROWS_AT + ROWS_BYTES;

type Sum = 'dot' | 'squaredDistance';
type SumFunction = (query: number, rows: number, out: number, count: number, dimensions: number) => void;

/**
 * One instance per thread is enough, because nothing runs between copying rows in and reading the
 * sums.
 */
const { memory, functions } = instantiate<Record<Sum, SumFunction>>(SIMILARITY_WASM);
const queries = new Float64Array(memory, 0, DIMENSIONS_MAX);
const results = new Float64Array(memory, RESULTS_AT, ROWS_MAX);
/** The query now in the kernel's memory. Queries alternate, step by step. */
let current: Float64Array | null = null;

/** Buffer for rows, to fill before calling `sumsOf`. */
export const kernelRows = new Float32Array(memory, ROWS_AT, ROWS_BYTES / Float32Array.BYTES_PER_ELEMENT);

/** Returns the number of rows that one call sums up. Throws RangeError for too many dimensions. */
export function rowsPerCall(dimensions: number): number {
  if (dimensions > DIMENSIONS_MAX) throw new RangeError(`The kernel supports at most ${DIMENSIONS_MAX} dimensions.`);
  return Math.min(ROWS_MAX, Math.floor(ROWS_BYTES / (dimensions * Float32Array.BYTES_PER_ELEMENT)));
}

/**
 * Returns the sum of squares of a vector, added in the same order as in `sumsOf`, so it equals the
 * dot product of two equal vectors to the last bit.
 */
export function sumOfSquares(vector: Float32Array): number {
  queries.set(vector);
  current = null;
  kernelRows.set(vector);
  functions.dot(0, ROWS_AT, RESULTS_AT, 1, vector.length);
  return float64At(results, 0);
}

/**
 * Computes the float64 sums of `query` with the first `count` rows of `kernelRows`
 * (`similarity.wat`). The result is valid until the next call; `query` must not change between
 * calls. Several times as fast as JavaScript, whose engine does not vectorize. Rows are copied in
 * because records cannot live in WebAssembly memory, which never shrinks.
 */
export function sumsOf(sum: Sum, query: Float64Array, count: number): Float64Array {
  if (current !== query) {
    queries.set(query);
    current = query;
  }
  functions[sum](0, ROWS_AT, RESULTS_AT, count, query.length);
  return results;
}
