/**
 * Extracts the vectors from JSON text before it is parsed, so that little is left to parse.
 *
 * Extracts only arrays of numbers with the collection's dimension count, at the path where this
 * kind of body has vectors, and puts a unique mark in their place. Everything else, including
 * malformed vectors, is left for the parser and the later checks to report. The scan reads bytes
 * without recursion, so deep nesting cannot overflow the stack. It also measures nesting depth,
 * counts keys, and detects objects with so many keys that parsing them would take seconds.
 */
import { randomUUID } from 'node:crypto';
import { isJsonObject } from '../../../lib/records/fields.ts';
import { float32Scanner } from '../../../lib/records/kernel/float32-scanner.ts';
import { RoundedInteger } from './rounded-integer.ts';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COLON = 0x3a;
/** `{` and `[`, like `}` and `]`, differ only in this bit. */
const CASE = 0x20;
const OPENING = 0x7b;
const CLOSING = 0x7d;
const BRACKET = 0x5b;
const [ZERO, NINE] = [0x30, 0x39];

/**
 * Prefix of the string that replaces a vector; the vector's index follows. It need not be secret: a
 * client that forges a mark gets one of its own vectors.
 */
const MARK = `${randomUUID()}:`;

/**
 * Maximum number of failed attempts per text. A failed attempt can cost a copy of the longest
 * vector, and a body can contain many candidates.
 */
const FAILURES_MAX = 8;

/** Matches every element of an array in a path. */
export const ANY_INDEX = Symbol('each');

/** Path of a body's vectors, their maximum number, and the length of each. */
export interface VectorPlace {
  path: readonly (string | typeof ANY_INDEX)[];
  countMax: number;
  dimensions: number;
}

const NOWHERE: VectorPlace = { path: [], countMax: 0, dimensions: 0 };

export interface ExtractedText {
  text: string;
  /** Vectors in the order of their marks. */
  vectors: Float32Array[];
  /** Number of keys written in all objects together. */
  keys: number;
}

/** Limits on the structure of a body's JSON. */
export interface TextBounds {
  levelsMax: number;
  /** Maximum number of keys in one object. Parsing time grows faster than the number of keys. */
  keysMax: number;
  /** Maximum bytes of a key. Longer ones may collide in V8's tables, at each comparison's cost. */
  nameMaxBytes: number;
}

/**
 * Returns UTF-8 JSON as text without the vectors at `place`, or the name of the first bound that it
 * exceeds. `rounded` examines the other numbers.
 */
export function extractVectors(
  bytes: Uint8Array,
  { levelsMax, keysMax, nameMaxBytes }: TextBounds,
  place: VectorPlace | null,
  rounded: RoundedInteger = new RoundedInteger(),
): ExtractedText | keyof TextBounds {
  const source = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const { countMax, dimensions, path } = place ?? NOWHERE;
  const vectorLevel = path.length < levelsMax ? path.length : 0;
  const key = Buffer.from(String(path.at(-1)));
  const vectors: Float32Array[] = [];
  const end = bytes.length;
  // One allocation for all vectors: threads do not return the memory of many small ones. Each
  // number takes at least two bytes, a digit and a separator, which limits the vectors that fit.
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
      if (at - start > nameMaxBytes && isLongName(source, start, at, nameMaxBytes)) return 'nameMaxBytes';
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
      if (++keys[level]! > keysMax) return 'keysMax';
    } else if (byte >= ZERO && byte <= NINE) at = rounded.examine(source, at) - 1;
  }
  return { text: text + source.toString('utf8', taken, end), vectors, keys: colons + vectors.length };
}

/** Replaces marks with their vectors, as Float32Arrays. Returns how many it replaced. */
export function restoreVectors(value: unknown, path: VectorPlace['path'], vectors: readonly Float32Array[]): number {
  const [step, ...rest] = path;
  if (step === ANY_INDEX) {
    if (!Array.isArray(value)) return 0;
    return value.reduce<number>((count, element) => count + restoreVectors(element, rest, vectors), 0);
  }
  if (step === undefined || !isJsonObject(value)) return 0;
  if (rest.length > 0) return restoreVectors(value[step], rest, vectors);
  const vector = vectorOf(value[step], vectors);
  if (vector === undefined) return 0;
  value[step] = vector;
  return 1;
}

function vectorOf(mark: unknown, vectors: readonly Float32Array[]): Float32Array | undefined {
  return typeof mark === 'string' && mark.startsWith(MARK) ? vectors[Number(mark.slice(MARK.length))] : undefined;
}

/** Whether a string is a key of more than `maxBytes` bytes, not counting its escapes. */
function isLongName(source: Buffer, start: number, end: number, maxBytes: number): boolean {
  if (valueAfter(source, end + 1) < 0) return false;
  const text = source.toString('utf8', start, end);
  return !text.includes('\\') || Buffer.byteLength(unescaped(text)) > maxBytes;
}

/** Returns the string that the text of a JSON string stands for; '' if it is not JSON. */
function unescaped(text: string): string {
  try {
    return JSON.parse(`"${text}"`) as string;
  } catch {
    // The parser refuses the body.
    return '';
  }
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

/** Returns the offset of the value after a key, or -1 if no colon follows the key. */
function valueAfter(bytes: Uint8Array, at: number): number {
  const colon = skipBlanks(bytes, at);
  return bytes[colon] === COLON ? skipBlanks(bytes, colon + 1) : -1;
}
