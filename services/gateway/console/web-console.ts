import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import type { IncomingHttpHeaders } from 'node:http';
import { extname, join } from 'node:path';
import type { PlainAnswer } from '../../../mixins/health/health-pages.ts';
import type { FoundPage } from '../web-pages.ts';
import { Asset } from './asset.ts';
import { consoleDocument, integrityOf, missingDocument } from './document.ts';
import { fileOf, readModules } from './module-graph.ts';

const BASE = '/console/';
const APP = 'services/gateway/console/app';
const ENTRY = `${APP}/main.ts`;
const ICON = `${APP}/icon.svg`;
/** Folder of the style sheets, which go out as one in the order of their names. */
const STYLES = `${APP}/styles`;
const STYLE = `${STYLES}.css`;
/** Files that no module imports and the document does not name. */
const OTHERS = ['node_modules/uplot/dist/uPlot.min.css'];
const TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml; charset=utf-8',
};
const SCRIPT = 'text/javascript; charset=utf-8';
const HTML = 'text/html; charset=utf-8';
const VERSION_CHARS = 16;
const SAFETY = Object.freeze({
  'X-Content-Type-Options': 'nosniff',
  'Cross-Origin-Resource-Policy': 'same-origin',
});

interface LoadedConsole {
  version: string;
  document: Asset;
  /** Changes with the document. */
  tag: string;
  policy: string;
  /** By their paths in the repository. */
  assets: ReadonlyMap<string, Asset>;
}

/**
 * Serves the console below `/console/`: a document, and its files below the version of them all,
 * which browsers may keep for a year. Files are read when a client first asks, and shared by all
 * responses from then on.
 */
export class WebConsole {
  /** Null until a client asks. A failure stays: only another install cures it. */
  #loaded: Promise<LoadedConsole> | null = null;

  /** Returns the page of a path, null for a path outside the console. */
  find(path: string): FoundPage | null {
    if (path === '/console') return { pattern: BASE, page: () => REDIRECT };
    if (!path.startsWith(BASE)) return null;
    return { pattern: BASE, page: (headers) => this.#answer(path.slice(BASE.length), headers) };
  }

  async #answer(path: string, headers: IncomingHttpHeaders): Promise<PlainAnswer> {
    this.#loaded ??= loadConsole();
    const loaded = await this.#loaded;
    if (path === '') return documentAnswer(loaded, headers);
    const [version, file = ''] = splitOnce(path);
    const asset = version === loaded.version ? loaded.assets.get(file) : undefined;
    if (asset === undefined) return missing(path, isVersion(version) && version !== loaded.version);
    const { body, headers: coded } = await asset.bodyFor(headers['accept-encoding']);
    const caching = { 'Cache-Control': 'public, max-age=31536000, immutable' };
    return { status: 200, type: asset.type, body, headers: { ...SAFETY, ...caching, ...coded } };
  }
}

/** Relative, for proxies that add a prefix. */
const REDIRECT: PlainAnswer = { status: 308, type: HTML, body: '', headers: { Location: 'console/' } };

const isVersion = (text: string): boolean => new RegExp(`^[0-9a-f]{${VERSION_CHARS}}$`).test(text);

function splitOnce(path: string): [string, string] {
  const at = path.indexOf('/');
  return at < 0 ? [path, ''] : [path.slice(0, at), path.slice(at + 1)];
}

async function documentAnswer(loaded: LoadedConsole, headers: IncomingHttpHeaders): Promise<PlainAnswer> {
  const { body, headers: coded } = await loaded.document.bodyFor(headers['accept-encoding']);
  const isKnown = headers['if-none-match']?.includes(loaded.tag) === true;
  return {
    status: isKnown ? 304 : 200,
    type: HTML,
    body: isKnown ? '' : body,
    headers: {
      ...SAFETY,
      ...coded,
      'Cache-Control': 'no-cache',
      ETag: loaded.tag,
      'Content-Security-Policy': loaded.policy,
      'Cross-Origin-Opener-Policy': 'same-origin',
      'Referrer-Policy': 'no-referrer',
    },
  };
}

function missing(path: string, isStale: boolean): PlainAnswer {
  const home = '../'.repeat(path.split('/').length - 1) || './';
  const headers = { ...SAFETY, 'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'" };
  return { status: 404, type: HTML, body: missingDocument(isStale, home), headers };
}

async function loadConsole(): Promise<LoadedConsole> {
  const { modules, named, first } = await readModules(ENTRY);
  const assets = new Map<string, Asset>();
  for (const [path, source] of modules) assets.set(path, new Asset(SCRIPT, source));
  assets.set(STYLE, new Asset(TYPES['.css']!, await readStyles()));
  for (const path of [ICON, ...OTHERS])
    assets.set(path, new Asset(TYPES[extname(path)]!, await readFile(fileOf(path), 'utf8')));
  const version = versionOf(assets);
  const foreign = [...modules.keys()].filter((path) => path.startsWith('node_modules/'));
  const integrity = new Map(foreign.map((path) => [path, integrityOf(assets.get(path)!.bytes)]));
  const parts = { version, entry: ENTRY, style: STYLE, icon: ICON, first, named, integrity };
  const { html, policy } = consoleDocument(parts);
  const document = new Asset(HTML, html);
  // Weak, since it is the same in every coding.
  const tag = `W/"${integrityOf(document.bytes)}"`;
  return { version, document, tag, policy, assets };
}

async function readStyles(): Promise<string> {
  const folder = fileOf(STYLES);
  const names = (await readdir(folder)).filter((name) => name.endsWith('.css')).sort();
  return (await Promise.all(names.map((name) => readFile(join(folder, name), 'utf8')))).join('\n');
}

/** Returns a hash of all files, in any order. */
function versionOf(assets: ReadonlyMap<string, Asset>): string {
  const hash = createHash('sha256');
  for (const path of [...assets.keys()].sort()) hash.update(`${path}\0`).update(assets.get(path)!.bytes).update('\0');
  return hash.digest('hex').slice(0, VERSION_CHARS);
}
