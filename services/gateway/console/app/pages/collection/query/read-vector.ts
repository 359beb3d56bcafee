/** A vector as people paste it: JSON, or numbers between commas, spaces or lines. */
export type ReadVector = { values: number[]; fault: null } | { values: null; fault: string };

/** Reads a vector of `dimensions` numbers, or says what is wrong with the text. */
export function readVector(text: string, dimensions: number): ReadVector {
  const words = text
    .replace(/^\s*\[|\]\s*$/g, '')
    .split(/[\s,;]+/)
    .filter(Boolean);
  if (words.length === 0) return { values: null, fault: `Paste ${dimensions} numbers.` };
  const values = words.map(Number);
  const wrong = values.findIndex((value) => !Number.isFinite(value));
  if (wrong >= 0)
    return { values: null, fault: `${words[wrong]!.slice(0, 20)} is not a number (position ${wrong + 1}).` };
  if (values.length !== dimensions)
    return { values: null, fault: `These are ${values.length} numbers; the collection has ${dimensions} dimensions.` };
  return { values, fault: null };
}
