/**
 * JSON as it was written. V8's JSON.parse may take a key that is written with an escape for another
 * one that was parsed before (`{"\"":1}` can come back as `{"\\":1}`:
 * github.com/nodejs/node/issues/63785): records would not have the hashes that they have. So no
 * escaped key ever reaches it: such a key goes in as the text it stands for, or under a name of its
 * own where JSON knows no other way to write it.
 */
import { bytesToHex, randomBytes } from '@noble/hashes/utils.js';

const KEY_END = /\s*:/y;
const PREFIX_BYTES = 16;

interface Key {
  name: string;
  /** Where it stands, quotes included. */
  start: number;
  end: number;
}

/** As `JSON.parse`, with every key as it was written. Throws SyntaxError on what is no JSON. */
export function parseJson(text: string): unknown {
  const value: unknown = JSON.parse(text);
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
  const result: unknown = JSON.parse(rewritten + text.slice(at));
  if (hidden.size > 0) restore(result, prefix, [...hidden.keys()]);
  return result;
}

/** The text is JSON, so a backslash is always within a string. */
function escapedKeys(text: string): Key[] {
  const keys: Key[] = [];
  for (let at = text.indexOf('\\'); at >= 0; ) {
    let end = at;
    while (text[end] !== '"') end += text[end] === '\\' ? 2 : 1;
    end++;
    KEY_END.lastIndex = end;
    if (KEY_END.test(text)) {
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
    const prefix = bytesToHex(randomBytes(PREFIX_BYTES));
    if (!texts.some((text) => text.includes(prefix))) return prefix;
  }
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
