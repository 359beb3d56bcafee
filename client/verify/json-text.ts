/**
 * JSON as it was written. V8's JSON.parse may take a key that is written with an escape for another
 * one that was parsed before (`{"\"":1}` can come back as `{"\\":1}`:
 * github.com/nodejs/node/issues/63785): records would not have the hashes that they have. So no
 * escaped key ever reaches it: such a key goes in as the text it stands for, or under a name of its
 * own where JSON knows no other way to write it.
 *
 * Values with escapes are not affected, and text without escaped keys is parsed once, as it is.
 */
import { bytesToHex, randomBytes } from '@noble/hashes/utils.js';

/** A parser of JSON text that throws where the text is not JSON. */
export type JsonParser = (text: string) => unknown;

const KEY_END = /\s*:/y;
const PREFIX_BYTES = 16;
const drawnPrefix = (): string => bytesToHex(randomBytes(PREFIX_BYTES));
/**
 * Tried first: to draw one takes as long as to read a small record. Drawn when it is needed: some
 * runtimes give no randomness to a module that is being loaded.
 */
let firstPrefix: string | undefined;

interface Key {
  name: string;
  /** Where it stands, quotes included. */
  start: number;
  end: number;
}

/**
 * As `JSON.parse`, with every key as it was written; `parse` is called with the text and must throw
 * on what is no JSON. `admit` is told of each escaped key how many came before, and may throw.
 */
export function parseJson(
  text: string,
  parse: JsonParser = JSON.parse,
  admit: (before: number) => void = () => undefined,
): unknown {
  const value = parse(text);
  const keys = escapedKeys(text, admit);
  if (keys.length === 0) return value;
  const prefix = unusedPrefix([text, ...keys.map(({ name }) => name)]);
  const hidden = new Map<string, string>();
  let rewritten = '';
  let at = 0;
  for (const { name, start, end } of keys) {
    // The same name twice is the same key twice: of these the last wins.
    if (JSON.stringify(name) !== `"${name}"` && !hidden.has(name)) hidden.set(name, `${prefix}${hidden.size}`);
    rewritten += `${text.slice(at, start)}"${hidden.get(name) ?? name}"`;
    at = end;
  }
  const result = parse(rewritten + text.slice(at));
  if (hidden.size > 0) restore(result, prefix, [...hidden.keys()]);
  return result;
}

/** The text is JSON, so a backslash is always within a string. */
function escapedKeys(text: string, admit: (before: number) => void): Key[] {
  const keys: Key[] = [];
  for (let at = text.indexOf('\\'); at >= 0; ) {
    let end = at;
    while (text[end] !== '"') end += text[end] === '\\' ? 2 : 1;
    end++;
    KEY_END.lastIndex = end;
    if (KEY_END.test(text)) {
      admit(keys.length);
      const start = text.lastIndexOf('"', at - 1);
      keys.push({ name: JSON.parse(text.slice(start, end)) as string, start, end });
    }
    at = text.indexOf('\\', end);
  }
  return keys;
}

/**
 * Whether an object somewhere in `text`, which is JSON and was parsed to `value`, has a key twice:
 * of these only the last is in the value, so another reader may see another one.
 */
export function hasRepeatedKey(text: string, value: unknown): boolean {
  return countWrittenKeys(text) > countKeys(value);
}

function countWrittenKeys(text: string): number {
  let count = 0;
  for (let at = text.indexOf('"'); at >= 0; at = text.indexOf('"', at)) {
    at++;
    while (text[at] !== '"') at += text[at] === '\\' ? 2 : 1;
    KEY_END.lastIndex = ++at;
    if (KEY_END.test(text)) count++;
  }
  return count;
}

/** Maximum depth of lists and objects in the JSON that verifiers read (docs/format.md). */
const LEVELS_MAX = 64;

/** Parses bytes as `parseJson` parses text. Throws for what is not JSON, and for over 64 levels. */
export function parseJsonBytes(bytes: Uint8Array): unknown {
  // A byte order mark stays, and is no JSON.
  const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  const value = parseJson(text);
  if (levelsIn(text) > LEVELS_MAX) throw new SyntaxError(`JSON of more than ${LEVELS_MAX} levels`);
  return value;
}

/** The depth of lists and objects in JSON. */
function levelsIn(text: string): number {
  let most = 0;
  let level = 0;
  for (let at = 0; at < text.length; at++) {
    const char = text[at];
    if (char === '"') while (text[++at] !== '"') at += text[at] === '\\' ? 1 : 0;
    else if (char === '[' || char === '{') most = Math.max(most, ++level);
    else if (char === ']' || char === '}') level--;
  }
  return most;
}

/** Not by recursion: JSON.parse takes more levels than the stack does. */
function countKeys(value: unknown): number {
  let count = 0;
  const left = [value];
  while (left.length > 0) {
    const next = left.pop();
    if (typeof next !== 'object' || next === null) continue;
    const members = Object.values(next);
    if (!Array.isArray(next)) count += members.length;
    for (const member of members) if (typeof member === 'object') left.push(member);
  }
  return count;
}

/** Nobody can know which it is, so this is short however the text was made. */
function unusedPrefix(texts: readonly string[]): string {
  firstPrefix ??= drawnPrefix();
  let prefix = firstPrefix;
  while (texts.some((text) => text.includes(prefix))) prefix = drawnPrefix();
  return prefix;
}

/** Gives keys their names back, in place: none can be `__proto__`, which needs no escape. */
function restore(value: unknown, prefix: string, names: readonly string[]): void {
  if (typeof value !== 'object' || value === null) return;
  const object = value as Record<string, unknown>;
  for (const key of Object.keys(object)) {
    restore(object[key], prefix, names);
    if (!key.startsWith(prefix)) continue;
    object[names[Number(key.slice(prefix.length))]!] = object[key];
    delete object[key];
  }
}
