import { instantiate } from '../../../../lib/records/kernel/wasm-module.ts';
import { SIMILARITY_WASM } from './similarity-wasm.ts';

/** What fits into the kernel's memory, and into a processor's nearest cache. */
const DIMENSIONS_MAX = 8_192;
const ROWS_BYTES = 64 * 1024;
const ROWS_MAX = 32;
const ROWS_AT = DIMENSIONS_MAX * Float64Array.BYTES_PER_ELEMENT;
const RESULTS_AT = ROWS_AT + ROWS_BYTES;

export type Sum = 'dot' | 'squaredDistance';
type SumFunction = (query: number, rows: number, out: number, count: number, dimensions: number) => void;

/** How many rows of so many dimensions are summed up at a time. */
export function rowsAtATime(dimensions: number): number {
  if (dimensions > DIMENSIONS_MAX) throw new RangeError(`The kernel takes ${DIMENSIONS_MAX} dimensions at most.`);
  return Math.min(ROWS_MAX, Math.floor(ROWS_BYTES / (dimensions * Float32Array.BYTES_PER_ELEMENT)));
}

/**
 * Sums of one query with rows of float32, in float64 (`similarity.wat`): several times as fast as
 * JavaScript, whose engine does not use vector instructions. Rows are copied in, as the memory that
 * they lie in is not WebAssembly's, which never gives any back.
 */
class SimilarityKernel {
  /** Where rows are written to before `sums`. */
  readonly rows: Float32Array<ArrayBuffer>;
  readonly #queries: Float64Array<ArrayBuffer>;
  readonly #results: Float64Array<ArrayBuffer>;
  readonly #sums: Record<Sum, SumFunction>;
  /** Whose query is in memory: queries take turns, step by step. */
  #query: Float64Array | null = null;

  constructor() {
    const { memory, functions } = instantiate<Record<Sum, SumFunction>>(SIMILARITY_WASM);
    this.rows = new Float32Array(memory, ROWS_AT, ROWS_BYTES / Float32Array.BYTES_PER_ELEMENT);
    this.#queries = new Float64Array(memory, 0, DIMENSIONS_MAX);
    this.#results = new Float64Array(memory, RESULTS_AT, ROWS_MAX);
    this.#sums = functions;
  }

  /**
   * The sums of `query` with the first `count` of `rows`; they hold until the next call. `query`
   * must not change while it is used.
   */
  sums(sum: Sum, query: Float64Array, count: number): Float64Array {
    if (this.#query !== query) {
      this.#queries.set(query);
      this.#query = query;
    }
    this.#sums[sum](0, ROWS_AT, RESULTS_AT, count, query.length);
    return this.#results;
  }
}

/** One for each thread, for nothing is done between copying rows in and reading the sums. */
export const similarityKernel = new SimilarityKernel();
