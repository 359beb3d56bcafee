/** Fields that hold a vector, and those that hold what has one. */
const VECTORS = ['values', 'vector'];
const HOLDERS = ['records', 'updates', 'queries'];

/** JSON of a request, with typed arrays as lists: `JSON.stringify` writes them as objects. */
export function bodyText(body: object): string {
  const held = Object.entries(withLists(body)).map(([name, value]) => {
    return [name, HOLDERS.includes(name) && Array.isArray(value) ? value.map(withLists) : value];
  });
  return JSON.stringify(Object.fromEntries(held));
}

/** The same, with its vector as a list. */
export function withLists(part: object): object {
  for (const name of VECTORS) {
    const vector = (part as Record<string, unknown> | null)?.[name];
    if (ArrayBuffer.isView(vector)) return { ...part, [name]: Array.from(vector as Float32Array) };
  }
  return part;
}
