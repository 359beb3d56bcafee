import { itemAt, lastOf } from './checked-access.ts';

/** Damerau-Levenshtein distance (optimal string alignment), in UTF-16 code units. */
function distance(a: string, b: string): number {
  let before: number[] = [];
  let previous = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1];
      const above = itemAt(previous, j);
      const diagonal = itemAt(previous, j - 1);
      let least = Math.min(above + 1, lastOf(row) + 1, diagonal + (same ? 0 : 1));
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        least = Math.min(least, itemAt(before, j - 2) + 1);
      row.push(least);
    }
    before = previous;
    previous = row;
  }
  return lastOf(previous);
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
  const wanted = folded(name.slice(0, 64));
  const isNear = (candidate: string): boolean => {
    const likely = folded(candidate);
    const most = Math.min(editsMax, Math.floor(likely.length / 2));
    return Math.abs(wanted.length - likely.length) <= most && distance(wanted, likely) <= most;
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
  const wanted = folded(name.slice(0, 64));
  let best: string | null = null;
  let least = Number.POSITIVE_INFINITY;
  for (const candidate of known) {
    const likely = folded(candidate);
    const far = isAbbreviation(wanted, likely) ? 1 : distance(wanted, likely);
    if (far < least && far * CHARS_PER_EDIT <= Math.max(wanted.length, likely.length)) {
      least = far;
      best = candidate;
    }
  }
  return best;
}
