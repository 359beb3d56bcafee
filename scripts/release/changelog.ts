const HEADING = /^## (\S+)(?: - (\S+))?$/gm;

/**
 * Returns the part of a changelog about one version, without its heading. Throws if the changelog
 * has no dated part about it.
 */
export function notesOf(changelog: string, version: string): string {
  const headings = [...changelog.matchAll(HEADING)];
  const at = headings.findIndex(([, name]) => name === version);
  const heading = headings[at];
  if (heading === undefined) throw new Error(`CHANGELOG.md has no part "## ${version} - <date>".`);
  if (heading[2] === undefined) throw new Error(`CHANGELOG.md does not date ${version}.`);
  return changelog.slice(heading.index + heading[0].length, headings[at + 1]?.index).trim();
}
