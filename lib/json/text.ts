/**
 * JSON as it was written. V8's JSON.parse may take a key that is written with an escape for another
 * one that was parsed before (`{"\"":1}` can come back as `{"\\":1}`:
 * github.com/nodejs/node/issues/63785), and whoever sends the first of the two can be another
 * tenant. So no escaped key ever reaches it: such a key goes in as the text it stands for, or under
 * a name of its own where JSON knows no other way to write it.
 *
 * Values with escapes are not affected, and text without escaped keys is parsed once, as it is.
 * Each escaped key costs several times what another does, so there may only be so many.
 */

import { randomUUID } from 'node:crypto';

/** A parser of JSON text that throws where the text is not JSON. */
export type JsonParser = (text: string) => unknown;

/** Takes about two seconds. */
const ESCAPED_KEYS_MAX = 500_000;
const KEY_END = /\s*:/y;

export class TooManyEscapedKeys extends Error {
  override name = 'TooManyEscapedKeys';
  override message = `More than ${ESCAPED_KEYS_MAX.toLocaleString('en')} keys are written with escapes.`;
}

/**
 * As `JSON.parse`; `parse` is called with the text and must throw on what is no JSON. Throws
 * TooManyEscapedKeys.
 */
export function parseJson(text: string, parse: JsonParser = JSON.parse): unknown {
  const value = parse(text);
  const keys = escapedKeys(text);
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

interface Key {
  name: string;
  /** Where it stands, quotes included. */
  start: number;
  end: number;
}

/**
 * The keys that are written with an escape. The text is JSON, so a backslash is always within a
 * string.
 */
function escapedKeys(text: string): Key[] {
  const keys: Key[] = [];
  for (let at = text.indexOf('\\'); at >= 0; ) {
    let end = at;
    while (text[end] !== '"') end += text[end] === '\\' ? 2 : 1;
    end++;
    KEY_END.lastIndex = end;
    if (KEY_END.test(text)) {
      if (keys.length === ESCAPED_KEYS_MAX) throw new TooManyEscapedKeys();
      const start = text.lastIndexOf('"', at - 1);
      keys.push({ name: JSON.parse(text.slice(start, end)) as string, start, end });
    }
    at = text.indexOf('\\', end);
  }
  return keys;
}

/** Nobody can know beforehand which it will be, so it is short however the text was made. */
function unusedPrefix(texts: readonly string[]): string {
  for (;;) {
    const prefix = randomUUID();
    if (!texts.some((text) => text.includes(prefix))) return prefix;
  }
}

/**
 * Gives keys their names back, in place: none of them can be `__proto__`, which needs no escape.
 */
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
