import { POWERS_OF_TEN } from '../float32-json.ts';
import { FLOAT32_SCAN_WASM } from './float32-scan-wasm.ts';
import { instantiate } from './wasm-module.ts';

type Scan = (at: number, out: number, count: number) => number;

const NUMBERS_MAX = 8_192;
/** Of a number as anybody writes it, blanks included: what takes more on average is not read. */
const NUMBER_MAX_BYTES = 48;
const NUMBERS_AT = POWERS_OF_TEN.byteLength;
const TEXT_AT = NUMBERS_AT + NUMBERS_MAX * Float32Array.BYTES_PER_ELEMENT;

// One memory for each thread, for nothing is done between copying text in and copying numbers out.
const { memory, functions } = instantiate<{ scan: Scan }>(FLOAT32_SCAN_WASM);
new Float64Array(memory).set(POWERS_OF_TEN);
const memoryBytes = new Uint8Array(memory);
const numbers = new Float32Array(memory, NUMBERS_AT, NUMBERS_MAX);

/**
 * Reads arrays of numbers in JSON text straight into float32 (`float32-scan.wat`): in a quarter of
 * the time of `JSON.parse`, which makes doubles of them, and of copying those.
 */
export const float32Scanner = {
  /**
   * Reads the array whose opening bracket stands at `at` into `target`, which is as long as the
   * array has to be, and returns where it ends, behind its bracket. 0 for whatever is not as many
   * numbers as JSON has them, each within float32 range, and for some that are: what is read is
   * exactly `Math.fround` of what `JSON.parse` gives.
   */
  scan(bytes: Uint8Array, at: number, target: Float32Array): number {
    const { length } = target;
    if (length < 1 || length > NUMBERS_MAX) return 0;
    const start = at + 1;
    const text = bytes.subarray(start, start + length * NUMBER_MAX_BYTES);
    memoryBytes.set(text, TEXT_AT);
    memoryBytes[TEXT_AT + text.length] = 0;
    const end = functions.scan(TEXT_AT, NUMBERS_AT, length);
    if (end === 0) return 0;
    target.set(numbers.subarray(0, length));
    return start + end - TEXT_AT;
  },
};
