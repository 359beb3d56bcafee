/** Idioms that `CONTRIBUTING.md` rules out. */

/** Refused at the start of a comment, and of a sentence in a page. */
const OPENING = String.raw`(?:Of|Has|So much|So long|Nobody)\b`;
const ANYWHERE = [
  /\bwhoever\b/i,
  /\b(?:no|some|every)body\b/i,
  /\bit is (?:looked|asked|told|said)\b/i,
  /\bof (?:it|them) it is\b/i,
  /\bgo(?:es)? on\b/i,
];
const COMMENT_OPENING = new RegExp(`^${OPENING}`);
const SENTENCE_OPENING = new RegExp(`(?:^|[.!?:] +)${OPENING}`);

/** Returns the first refused idiom of a comment's prose; null if there is none. */
export function idiomOfComment(prose: string): string | null {
  return firstMatch(prose, [COMMENT_OPENING, ...ANYWHERE]);
}

/** Returns the first refused idiom of each paragraph, list item and table row of a page. */
export function idiomsOfPage(markdown: string): string[] {
  const prose = markdown
    .replaceAll(/^ *```[\s\S]*?^ *```/gm, '')
    .replaceAll(/`[^`]*`/g, 'code')
    .replaceAll(/"[^"\n]*"/g, 'quotation');
  return prose
    .split(/\n\s*\n|\n *(?=[*|-] |\d+\. )/)
    .map((paragraph) => paragraph.replaceAll(/[*#|\s]+/g, ' ').trim())
    .flatMap((paragraph) => firstMatch(paragraph, [SENTENCE_OPENING, ...ANYWHERE]) ?? []);
}

function firstMatch(prose: string, patterns: RegExp[]): string | null {
  for (const pattern of patterns) {
    const found = pattern.exec(prose)?.[0];
    if (found !== undefined) return found;
  }
  return null;
}
