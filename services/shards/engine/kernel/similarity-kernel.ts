import { instantiate } from '../../../../lib/records/kernel/wasm-module.ts';
import { SIMILARITY_WASM } from './similarity-wasm.ts';

/** What fits into the kernel's memory, and into a processor's nearest cache. */
const DIMENSIONS_MAX = 8_192;
const ROWS_BYTES = 64 * 1024;
const ROWS_MAX = 32;
const ROWS_AT = DIMENSIONS_MAX * Float64Array.BYTES_PER_ELEMENT;
const RESULTS_AT = ROWS_AT + ROWS_BYTES;

type Sum = 'dot' | 'squaredDistance';
type SumFunction = (query: number, rows: number, out: number, count: number, dimensions: number) => void;

/** One for each thread, for nothing is done between copying rows in and reading the sums. */
const { memory, functions } = instantiate<Record<Sum, SumFunction>>(SIMILARITY_WASM);
const queries = new Float64Array(memory, 0, DIMENSIONS_MAX);
const results = new Float64Array(memory, RESULTS_AT, ROWS_MAX);
/** Whose query is in memory: queries take turns, step by step. */
let current: Float64Array | null = null;

/** Where rows are written to before `sumsOf`. */
export const kernelRows = new Float32Array(memory, ROWS_AT, ROWS_BYTES / Float32Array.BYTES_PER_ELEMENT);

/** How many rows of so many dimensions are summed up at a time. */
export function rowsAtATime(dimensions: number): number {
  if (dimensions > DIMENSIONS_MAX) throw new RangeError(`The kernel takes ${DIMENSIONS_MAX} dimensions at most.`);
  return Math.min(ROWS_MAX, Math.floor(ROWS_BYTES / (dimensions * Float32Array.BYTES_PER_ELEMENT)));
}

/**
 * The sum of squares of a vector, added up in the order of `sumsOf`: the dot product of equal
 * vectors to the last bit.
 */
export function squareOf(vector: Float32Array): number {
  queries.set(vector);
  current = null;
  kernelRows.set(vector);
  functions.dot(0, ROWS_AT, RESULTS_AT, 1, vector.length);
  return results[0];
}

/**
 * The sums of `query` with the first `count` of `kernelRows`, in float64 (`similarity.wat`); they
 * hold until the next call. `query` must not change while it is used. Several times as fast as
 * JavaScript, whose engine does not use vector instructions. Rows are copied in, as the memory that
 * they lie in is not WebAssembly's, which never gives any back.
 */
export function sumsOf(sum: Sum, query: Float64Array, count: number): Float64Array {
  if (current !== query) {
    queries.set(query);
    current = query;
  }
  functions[sum](0, ROWS_AT, RESULTS_AT, count, query.length);
  return results;
}
