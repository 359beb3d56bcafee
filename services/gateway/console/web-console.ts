import type { IncomingHttpHeaders } from 'node:http';
import type { PlainAnswer } from '../../../mixins/health/health-pages.ts';
import type { FoundPage } from '../web-pages.ts';
import { missingDocument } from './document.ts';
import { type LoadedConsole, type LoadedDocument, loadConsole, VERSION_CHARS } from './loaded-console.ts';

const BASE = '/console/';
const HTML = 'text/html; charset=utf-8';
const SAFETY = Object.freeze({
  'X-Content-Type-Options': 'nosniff',
  'Cross-Origin-Resource-Policy': 'same-origin',
});

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
    if (path === '/console') return { pattern: BASE, page: () => redirectTo('console/') };
    if (!path.startsWith(BASE)) return null;
    return { pattern: BASE, page: (headers) => this.#answer(path.slice(BASE.length), headers) };
  }

  async #answer(path: string, headers: IncomingHttpHeaders): Promise<PlainAnswer> {
    this.#loaded ??= loadConsole();
    const loaded = await this.#loaded;
    if (path === 'verify') return redirectTo('verify/');
    const document = loaded.documents.get(path);
    if (document !== undefined) return documentAnswer(document, headers);
    const [version, file = ''] = splitOnce(path);
    const asset = version === loaded.version ? loaded.assets.get(file) : undefined;
    if (asset === undefined) return missing(path, isVersion(version) && version !== loaded.version);
    const { body, headers: coded } = await asset.bodyFor(headers['accept-encoding']);
    const caching = { 'Cache-Control': 'public, max-age=31536000, immutable' };
    return { status: 200, type: asset.type, body, headers: { ...SAFETY, ...asset.headers, ...caching, ...coded } };
  }
}

/** Relative, for proxies that add a prefix. */
const redirectTo = (location: string): PlainAnswer => ({
  status: 308,
  type: HTML,
  body: '',
  headers: { Location: location },
});

const isVersion = (text: string): boolean => new RegExp(`^[0-9a-f]{${VERSION_CHARS}}$`).test(text);

function splitOnce(path: string): [string, string] {
  const at = path.indexOf('/');
  return at < 0 ? [path, ''] : [path.slice(0, at), path.slice(at + 1)];
}

async function documentAnswer({ asset, tag }: LoadedDocument, headers: IncomingHttpHeaders): Promise<PlainAnswer> {
  const { body, headers: coded } = await asset.bodyFor(headers['accept-encoding']);
  const isKnown = headers['if-none-match']?.includes(tag) === true;
  return {
    status: isKnown ? 304 : 200,
    type: HTML,
    body: isKnown ? '' : body,
    headers: {
      ...SAFETY,
      ...asset.headers,
      ...coded,
      'Cache-Control': 'no-cache',
      ETag: tag,
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
