import { distance } from 'fastest-levenshtein';

/** From this length on the beginning of a known name is taken for it. */
const ABBREVIATION_MIN_CHARS = 3;

const isAbbreviation = (name: string, known: string) =>
  name.length >= ABBREVIATION_MIN_CHARS && name.length < known.length && known.startsWith(name);

const folded = (name: string) => name.toLowerCase().replaceAll(/[_-]/g, '');

/** Every so many characters one may be wrong; with more it is taken for another name. */
const CHARS_PER_EDIT = 3;

/**
 * The one of `known` that is most like `name` (case, `_` and `-` do not count; an abbreviation is
 * one edit), the first of equals; null when none is so much like it that it can be meant.
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
