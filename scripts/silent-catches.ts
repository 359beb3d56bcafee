const NOTHING = String.raw`(?:undefined|null|true|false|void 0|0|''|""|\[\]|\{\s*\}|\(\{\s*\}\))`;
const IGNORES = String.raw`\(?\w*\)?\s*=>\s*${NOTHING}\s*,?\s*\)`;
const SILENT = new RegExp(
  String.raw`\.catch\(\s*${IGNORES}|\.then\([^\n]*,\s*${IGNORES}|\bcatch\s*(?:\(\w+\)\s*)?\{\s*\}`,
  'g',
);
/** Number of lines above a catch in which its comment may be. */
const ABOVE_MAX = 3;

/**
 * Returns the numbers of the lines that drop an error with neither code nor a comment. The comment
 * is on the same line or above it in the same statement.
 */
export function silentCatches(source: string): number[] {
  const lines = source.split('\n');
  return [...source.matchAll(SILENT)].flatMap((match) => {
    const at = source.slice(0, match.index).split('\n').length - 1;
    return isExplained(lines, at) ? [] : [at + 1];
  });
}

function isExplained(lines: readonly string[], at: number): boolean {
  if (lines[at]?.includes('// ')) return true;
  const above = lines.slice(Math.max(0, at - ABOVE_MAX), at).reverse();
  const comment = above.findIndex((line) => /^\s*\/\/ /.test(line));
  return comment >= 0 && !above.slice(0, comment).some((line) => /(?:^\s*|[;}])$/.test(line));
}
