import { objectInLine } from './json-line.ts';

/** A line, from its first `{` on. Bytes of UTF-8 are read as characters, which keeps them. */
const LINE = /(^(?:\xef\xbb\xbf)?|\n)([\t\r ]*)\{([^\n]*)/g;
const IS_EMPTY = /^\s*\}/;
/** Text without which a line has no key `namespace`; any character may be written as an escape. */
const MAY_NAME = /namespace|\\u/;

/**
 * Adds a namespace to the records of NDJSON that name none, and keeps every other byte. Lines that
 * are no objects stay as they are: the service says what is wrong with them.
 */
export function withNamespace(bytes: Uint8Array, namespace: string): Uint8Array {
  const member = Buffer.from(`"namespace":${JSON.stringify(namespace)},`).toString('latin1');
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');
  const added = text.replace(LINE, (line, begin: string, space: string, rest: string) =>
    IS_EMPTY.test(rest) || (MAY_NAME.test(rest) && namesOne(`{${rest}`)) ? line : `${begin}${space}{${member}${rest}`,
  );
  return Buffer.from(added, 'latin1');
}

function namesOne(line: string): boolean {
  // The service refuses a line that is no object, and says why.
  return Object.hasOwn(objectInLine(line) ?? { namespace: '' }, 'namespace');
}
