import { createHash } from 'node:crypto';

/** Name of the only Trusted Types policy, which makes the addresses of workers. */
const POLICY = 'provec-worker';

export interface DocumentParts {
  version: string;
  entry: string;
  style: string;
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
  const { version, entry, style, icon, first } = parts;
  const map = importMap(parts);
  const html = [
    '<!doctype html>',
    '<html lang="en">',
    '<head>',
    '<meta charset="utf-8">',
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    '<meta name="color-scheme" content="light dark">',
    `<meta name="provec-console" content="${version}">`,
    '<title>Provec</title>',
    `<link rel="icon" type="image/svg+xml" href="${version}/${icon}">`,
    `<link rel="stylesheet" href="${version}/${style}">`,
    `<script type="importmap">${map}</script>`,
    ...first.map((path) => `<link rel="modulepreload" href="${version}/${path}"${integrityAttribute(parts, path)}>`),
    `<script type="module" src="${version}/${entry}"></script>`,
    '</head>',
    '<body>',
    // Gone once the entry runs. During an update another gateway may lack this version's files.
    '<div id="console"><p class="boot">The console is loading. If this stays, <a href="">load it again</a>.</p></div>',
    '<noscript>The console needs JavaScript. The API does not: see /openapi.json.</noscript>',
    '</body>',
    '</html>',
    '',
  ].join('\n');
  return { html, policy: policyFor(map) };
}

/** A browser uses a preloaded module only if its integrity is that of the import map. */
function integrityAttribute({ integrity }: DocumentParts, path: string): string {
  const hash = integrity.get(path);
  return hash === undefined ? '' : ` integrity="${hash}"`;
}

function importMap({ version, named, integrity }: DocumentParts): string {
  const at = (path: string) => `./${version}/${path}`;
  return JSON.stringify({
    imports: Object.fromEntries(Array.from(named, ([name, path]) => [name, at(path)])),
    integrity: Object.fromEntries(Array.from(integrity, ([path, hash]) => [at(path), hash])),
  });
}

/** An inline import map counts as an inline script, so the policy names its hash. */
function policyFor(map: string): string {
  return [
    "default-src 'none'",
    `script-src 'self' '${integrityOf(Buffer.from(map))}'`,
    "style-src 'self'",
    "connect-src 'self'",
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
