/**
 * Returns an upsert or a query as programs to paste. The key is in a variable: it must not end up
 * in a history.
 */
export function requestCode(
  service: string,
  collection: string,
  operation: 'query' | 'upsert',
  body: Readonly<Record<string, unknown>>,
): Record<string, string> {
  const json = jsonOf(body);
  const name = JSON.stringify(collection);
  return {
    curl: [
      `curl -sS ${service}/api/v1/collections/${encodeURIComponent(collection)}/${operation} \\`,
      '  -H "Authorization: Bearer $PROVEC_KEY" \\',
      "  -H 'Content-Type: application/json' \\",
      `  -d '${json.replaceAll("'", "'\\''")}'`,
    ].join('\n'),
    Python: [
      ['import os', 'from provec import Provec'].join('\n'),
      '',
      `provec = Provec(${JSON.stringify(service)}, os.environ["PROVEC_KEY"])`,
      `print(provec.collection(${name}).${operation}(${pythonArguments(body)}))`,
    ].join('\n'),
    TypeScript: [
      ['import { Provec }', "'@provec/client';"].join(' from '),
      '',
      `const provec = new Provec({ url: ${JSON.stringify(service)}, apiKey: process.env.PROVEC_KEY! });`,
      `console.log(await provec.collection(${name}).${operation}(${json}));`,
    ].join('\n'),
  };
}

const pythonArguments = (body: Readonly<Record<string, unknown>>): string =>
  Object.entries(body)
    .map(([name, value]) => `${name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)}=${pythonValue(value)}`)
    .join(', ');

/** Returns a JSON value as Python writes it. */
function pythonValue(value: unknown): string {
  if (value === null) return 'None';
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  if (Array.isArray(value)) return `[${value.map(pythonValue).join(', ')}]`;
  if (typeof value !== 'object') return jsonOf(value);
  const entries = Object.entries(value).map(([name, one]) => `${jsonOf(name)}: ${pythonValue(one)}`);
  return `{${entries.join(', ')}}`;
}

/** Characters of the basic plane that show nothing, or turn what is around them. */
const HIDDEN = /[\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g;

/** Returns JSON in which every character shows; all three languages read its escapes alike. */
const jsonOf = (value: unknown): string =>
  JSON.stringify(value).replaceAll(HIDDEN, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`);
