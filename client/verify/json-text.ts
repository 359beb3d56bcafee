/**
 * Parses JSON without a bug of V8: JSON.parse may take a key with an escape for another key that it
 * parsed earlier (`{"\"":1}` can become `{"\\":1}`: github.com/nodejs/node/issues/63785), which
 * would change the hashes of records. This module rewrites such keys without the escape before it
 * parses. Keys that JSON can only write with an escape get a temporary name.
 *
 * Escapes in values are not affected. Text without escaped keys is parsed unchanged.
 */

/** Parses JSON text; throws if it is not JSON. */
export type JsonParser = (text: string) => unknown;

const KEY_END = /\s*:/y;
const PREFIX_BYTES = 16;
const drawPrefix = (): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(PREFIX_BYTES)), (byte) => byte.toString(16).padStart(2, '0')).join(
    '',
  );
/**
 * Prefix of temporary names that is tried first, since drawing one takes as long as parsing a small
 * record. Drawn on first use: some runtimes provide no randomness while a module loads.
 */
let firstPrefix: string | undefined;

interface Key {
  name: string;
  /** Position in the text, quotes included. */
  start: number;
  end: number;
}

/**
 * Parses like `JSON.parse`, but keeps every key as written. `parse` gets the text, possibly
 * rewritten, and must throw if it is not JSON. `admit` is called for each escaped key with the
 * number of earlier ones, and may throw.
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
    // Equal keys get the same temporary name, so the last one wins as usual.
    if (JSON.stringify(name) !== `"${name}"` && !hidden.has(name)) hidden.set(name, `${prefix}${hidden.size}`);
    rewritten += `${text.slice(at, start)}"${hidden.get(name) ?? name}"`;
    at = end;
  }
  const result = parse(rewritten + text.slice(at));
  if (hidden.size > 0) restore(result, prefix, [...hidden.keys()]);
  return result;
}

/** Finds the escaped keys. The text must be JSON, so that every backslash is within a string. */
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
 * Whether any object in `text` has a key twice. `value` is the parsed text. It has only the last of
 * the repeated members; other parsers may keep another one.
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

/** Maximum nesting of lists and objects in the JSON that verifiers accept (docs/format.md). */
const LEVELS_MAX = 64;

/** Parses UTF-8 like `parseJson`. Throws if it is not JSON, or has more than 64 levels. */
export function parseJsonBytes(bytes: Uint8Array): unknown {
  // A byte order mark is kept, so the parser refuses it.
  const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  const value = parseJson(text);
  if (levelsIn(text) > LEVELS_MAX) throw new SyntaxError(`JSON of more than ${LEVELS_MAX} levels`);
  return value;
}

/** Returns the maximum nesting of lists and objects. */
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

/** Counts the keys of all objects. Iterative, since JSON.parse accepts very deep nesting. */
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

/** Draws a prefix that no text contains. It is random, so no crafted text can prolong the loop. */
function unusedPrefix(texts: readonly string[]): string {
  firstPrefix ??= drawPrefix();
  let prefix = firstPrefix;
  while (texts.some((text) => text.includes(prefix))) prefix = drawPrefix();
  return prefix;
}

/** Restores the names of keys in place. None is `__proto__`, which needs no escape. */
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
