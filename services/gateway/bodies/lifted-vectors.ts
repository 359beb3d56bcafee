/**
 * Takes the vectors out of JSON text before it is parsed, so that what is parsed is short.
 *
 * Only what is an array of numbers, as many as the collection has dimensions, at the one place
 * where a body of its kind has vectors, is taken out, and something unmistakable put in its place;
 * all else, vectors that are not as they should be included, stays for the parser and the checks
 * behind it, which say what is wrong. It reads bytes, so that no depth can overflow a stack, and
 * finds out on the way how deep the text nests, how many keys it has, and whether an object has so
 * many that parsing it takes seconds.
 */
import { randomUUID } from 'node:crypto';
import { isJsonObject } from '../../../lib/records/fields.ts';
import { float32Scanner } from '../../../lib/records/kernel/float32-scanner.ts';
import { RoundedInteger } from './rounded-integer.ts';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COLON = 0x3a;
/** `{` and `[`, `}` and `]` differ in this bit only. */
const CASE = 0x20;
const OPENING = 0x7b;
const CLOSING = 0x7d;
const BRACKET = 0x5b;
const [ZERO, NINE] = [0x30, 0x39];

/**
 * Before the number of a vector, in a string of its own. That a client knows it does no harm: it
 * would get its own vector.
 */
const MARK = `${randomUUID()}:`;

/**
 * Looking in vain costs up to a copy of the longest vector, and a body can hold many places to look
 * at.
 */
const FAILURES_MAX = 8;

/** Stands for every element of an array in a path. */
export const EACH = Symbol('each');

/** Where a body has its vectors, how many at most, and of how many numbers. */
export interface VectorPlace {
  path: readonly (string | typeof EACH)[];
  countMax: number;
  dimensions: number;
}

const NOWHERE: VectorPlace = { path: [], countMax: 0, dimensions: 0 };

export interface LiftedText {
  text: string;
  /** In order of their marks. */
  vectors: Float32Array[];
  /** Number of keys that are written in all objects. */
  keys: number;
}

/** What the text of a body may be made of. */
export interface TextBounds {
  levelsMax: number;
  /** Of one object; the parser's time grows faster than their number. */
  keysMax: number;
}

/**
 * The text of JSON in UTF-8 without the vectors at `place`; which bound it passes where it passes
 * one. `rounded` gets the numbers of the text.
 */
export function liftVectors(
  bytes: Uint8Array,
  { levelsMax, keysMax }: TextBounds,
  place: VectorPlace | null,
  rounded: RoundedInteger = new RoundedInteger(),
): LiftedText | keyof TextBounds {
  const source = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const { countMax, dimensions, path } = place ?? NOWHERE;
  const vectorLevel = path.length < levelsMax ? path.length : 0;
  const key = Buffer.from(String(path.at(-1)));
  const vectors: Float32Array[] = [];
  const end = bytes.length;
  // All in one piece: memory that many threads take in small ones is not given back. A number is a
  // digit and what follows it, at least.
  const most = Math.min(countMax, Math.floor(end / (2 * Math.max(1, dimensions))));
  const room = new Float32Array(most * dimensions);
  let text = '';
  let taken = 0;
  let level = 0;
  let failures = 0;
  let colons = 0;
  const keys = new Uint32Array(levelsMax + 1);
  for (let at = 0; at < end; at++) {
    const byte = bytes[at]!;
    if (byte === QUOTE) {
      const start = ++at;
      for (; at < end && bytes[at] !== QUOTE; at++) if (bytes[at] === BACKSLASH) at++;
      if (level !== vectorLevel || vectors.length === most || failures === FAILURES_MAX) continue;
      const opening = isText(bytes, start, at, key) ? valueAfter(bytes, at + 1) : -1;
      if (bytes[opening] !== BRACKET) continue;
      const vector = room.subarray(vectors.length * dimensions, (vectors.length + 1) * dimensions);
      const ending = float32Scanner.scan(bytes, opening, vector);
      if (ending === 0) {
        failures++;
        continue;
      }
      text += `${source.toString('utf8', taken, opening)}"${MARK}${vectors.length}"`;
      vectors.push(vector);
      taken = ending;
      at = taken - 1;
    } else if ((byte | CASE) === OPENING) {
      if (++level > levelsMax) return 'levelsMax';
      keys[level] = 0;
    } else if ((byte | CASE) === CLOSING) level--;
    else if (byte === COLON) {
      colons++;
      if (++keys[level] > keysMax) return 'keysMax';
    } else if (byte >= ZERO && byte <= NINE) at = rounded.look(source, at) - 1;
  }
  return { text: text + source.toString('utf8', taken, end), vectors, keys: colons + vectors.length };
}

/** Puts vectors back, in place, as Float32Arrays; returns how many. */
export function lowerVectors(value: unknown, path: VectorPlace['path'], vectors: readonly Float32Array[]): number {
  const [step, ...rest] = path;
  if (step === EACH) {
    if (!Array.isArray(value)) return 0;
    return value.reduce<number>((count, element) => count + lowerVectors(element, rest, vectors), 0);
  }
  if (step === undefined || !isJsonObject(value)) return 0;
  if (rest.length > 0) return lowerVectors(value[step], rest, vectors);
  const vector = vectorOf(value[step], vectors);
  if (vector === undefined) return 0;
  value[step] = vector;
  return 1;
}

function vectorOf(mark: unknown, vectors: readonly Float32Array[]): Float32Array | undefined {
  return typeof mark === 'string' && mark.startsWith(MARK) ? vectors[Number(mark.slice(MARK.length))] : undefined;
}

function isText(bytes: Uint8Array, start: number, end: number, text: Uint8Array): boolean {
  if (end - start !== text.length) return false;
  for (let i = 0; i < text.length; i++) if (bytes[start + i] !== text[i]) return false;
  return true;
}

function skipBlanks(bytes: Uint8Array, at: number): number {
  for (let byte = bytes[at]; byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09; byte = bytes[at]) at++;
  return at;
}

/** Where the value begins that follows a key; -1 when no colon does. */
function valueAfter(bytes: Uint8Array, at: number): number {
  const colon = skipBlanks(bytes, at);
  return bytes[colon] === COLON ? skipBlanks(bytes, colon + 1) : -1;
}
