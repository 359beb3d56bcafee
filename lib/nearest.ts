/** Maximum characters of a name that are compared. */
const COMPARED_MAX_CHARS = 64;
/**
 * Rows of the table of distances, reused by all calls. A longer candidate is too far from any name.
 */
const ROW_LENGTH = 2 * COMPARED_MAX_CHARS;
let [before, previous, row] = [0, 0, 0].map(() => new Uint16Array(ROW_LENGTH)) as [Row, Row, Row];
type Row = Uint16Array<ArrayBuffer>;

/**
 * Returns the Damerau-Levenshtein distance (optimal string alignment) in UTF-16 code units, or
 * Infinity if it is more than `most`.
 */
function distanceWithin(a: string, b: string, most: number): number {
  if (Math.abs(a.length - b.length) > most || b.length >= ROW_LENGTH) return Infinity;
  for (let j = 0; j <= b.length; j++) previous[j] = j;
  let leastBefore = 0;
  for (let i = 1; i <= a.length; i++) {
    row[0] = i;
    let least = i;
    const unit = a.charCodeAt(i - 1);
    for (let j = 1; j <= b.length; j++) {
      const other = b.charCodeAt(j - 1);
      let edits = Math.min(previous[j]! + 1, row[j - 1]! + 1, previous[j - 1]! + (unit === other ? 0 : 1));
      if (i > 1 && j > 1 && unit === b.charCodeAt(j - 2) && a.charCodeAt(i - 2) === other)
        edits = Math.min(edits, before[j - 2]! + 1);
      row[j] = edits;
      least = Math.min(least, edits);
    }
    // A later row continues from this one, or from the one before with one edit more.
    if (least > most && leastBefore >= most) return Infinity;
    leastBefore = least;
    [before, previous, row] = [previous, row, before];
  }
  return previous[b.length]! <= most ? previous[b.length]! : Infinity;
}

/** Minimum length of a prefix that counts as an abbreviation of a known name. */
const ABBREVIATION_MIN_CHARS = 3;

const isAbbreviation = (name: string, known: string) =>
  name.length >= ABBREVIATION_MIN_CHARS && name.length < known.length && known.startsWith(name);

const folded = (name: string) => name.toLowerCase().replaceAll(/[_-]/g, '');

/**
 * Returns the first of `known` within `editsMax` edits of `name`, or null. Names of two or three
 * letters allow one edit. Ignores case, `_` and `-`.
 */
export function withinEdits(name: string, known: readonly string[], editsMax: number): string | null {
  const wanted = folded(name.slice(0, COMPARED_MAX_CHARS));
  const isNear = (candidate: string): boolean => {
    const likely = folded(candidate);
    return distanceWithin(wanted, likely, Math.min(editsMax, Math.floor(likely.length / 2))) < Infinity;
  };
  return known.find(isNear) ?? null;
}

/** Characters per permitted edit: a third of the name may differ. */
const CHARS_PER_EDIT = 3;

/**
 * Returns the first of the `known` names closest to `name`, or null if none is close enough.
 * Ignores case, `_` and `-`; an abbreviation counts as one edit.
 */
export function nearest(name: string, known: readonly string[]): string | null {
  const wanted = folded(name.slice(0, COMPARED_MAX_CHARS));
  let best: string | null = null;
  let least = Number.POSITIVE_INFINITY;
  for (const candidate of known) {
    const likely = folded(candidate);
    const most = Math.min(least - 1, Math.floor(Math.max(wanted.length, likely.length) / CHARS_PER_EDIT));
    const far = isAbbreviation(wanted, likely) ? 1 : distanceWithin(wanted, likely, most);
    if (far <= most) {
      least = far;
      best = candidate;
    }
  }
  return best;
}
