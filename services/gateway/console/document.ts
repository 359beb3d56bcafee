import { createHash } from 'node:crypto';

/** Name of the only Trusted Types policy, which makes the addresses of workers. */
const POLICY = 'provec-worker';

/** What one page of the console says and may do. */
export interface PageTraits {
  title: string;
  /** While the page loads, and without JavaScript. */
  loading: string;
  noScript: string;
  /** From the document to the folder of the versions: '' or '../'. */
  up: string;
  /** Origins that the page may ask, as a policy writes them. */
  connect: string;
}

export interface DocumentParts extends PageTraits {
  version: string;
  entry: string;
  /** Paths of the style sheets, in order. */
  styles: readonly string[];
  icon: string;
  /** Modules to load at once, by path. */
  first: readonly string[];
  /** Paths of the modules that are imported by name. */
  named: ReadonlyMap<string, string>;
  /** Integrity of the modules of packages, by path; the version names the content of the others. */
  integrity: ReadonlyMap<string, string>;
}

/**
 * Returns the console's HTML and its policy. All addresses are relative, so that the console works
 * behind a proxy that adds a prefix.
 */
export function consoleDocument(parts: DocumentParts): { html: string; policy: string } {
  const { version, entry, styles, icon, first, title, loading, noScript, up, connect } = parts;
  const map = importMap(parts);
  const at = (path: string) => `${up}${version}/${path}`;
  const html = [
    '<!doctype html>',
    '<html lang="en">',
    '<head>',
    '<meta charset="utf-8">',
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    '<meta name="color-scheme" content="light dark">',
    `<meta name="provec-console" content="${version}">`,
    `<title>${title}</title>`,
    `<link rel="icon" type="image/svg+xml" href="${at(icon)}">`,
    ...styles.map((path) => `<link rel="stylesheet" href="${at(path)}">`),
    `<script type="importmap">${map}</script>`,
    ...first.map((path) => `<link rel="modulepreload" href="${at(path)}"${integrityAttribute(parts, path)}>`),
    `<script type="module" src="${at(entry)}"></script>`,
    '</head>',
    '<body>',
    // Gone once the entry runs. During an update another gateway may lack this version's files.
    `<div id="console"><p class="boot">${loading} If this stays, <a href="">load it again</a>.</p></div>`,
    `<noscript>${noScript}</noscript>`,
    '</body>',
    '</html>',
    '',
  ].join('\n');
  return { html, policy: policyFor(map, connect) };
}

/** A browser uses a preloaded module only if its integrity is that of the import map. */
function integrityAttribute({ integrity }: DocumentParts, path: string): string {
  const hash = integrity.get(path);
  return hash === undefined ? '' : ` integrity="${hash}"`;
}

function importMap({ version, named, integrity, up }: DocumentParts): string {
  const at = (path: string) => `${up || './'}${version}/${path}`;
  return JSON.stringify({
    imports: Object.fromEntries(Array.from(named, ([name, path]) => [name, at(path)])),
    integrity: Object.fromEntries(Array.from(integrity, ([path, hash]) => [at(path), hash])),
  });
}

/** An inline import map counts as an inline script, so the policy names its hash. */
function policyFor(map: string, connect: string): string {
  return [
    "default-src 'none'",
    `script-src 'self' '${integrityOf(Buffer.from(map))}'`,
    "style-src 'self'",
    `connect-src ${connect}`,
    "img-src 'self' data:",
    "font-src 'none'",
    "worker-src 'self'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
    "form-action 'none'",
    "require-trusted-types-for 'script'",
    `trusted-types ${POLICY}`,
  ].join('; ');
}

/** Returns the hash of bytes as policies and import maps write it. */
export const integrityOf = (bytes: Buffer): string => `sha256-${createHash('sha256').update(bytes).digest('base64')}`;

/**
 * Returns the page for an address that names no file. If a browser kept a page of an earlier
 * version, this one sends it to `home`, the address of the console.
 */
export function missingDocument(isStale: boolean, home: string): string {
  return [
    '<!doctype html>',
    '<html lang="en">',
    '<head>',
    '<meta charset="utf-8">',
    ...(isStale ? [`<meta http-equiv="refresh" content="0; url=${home}">`] : []),
    '<title>Not found</title>',
    '</head>',
    '<body>',
    `<p>${isStale ? 'This version of the console is no longer served.' : 'The console has no such file.'}</p>`,
    `<p><a href="${home}">Open the console</a></p>`,
    '</body>',
    '</html>',
    '',
  ].join('\n');
}
