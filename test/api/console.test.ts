/** How the console is served: to anyone, as files of one version, under its policy. */
import { createHash } from 'node:crypto';
import { type IncomingHttpHeaders, request } from 'node:http';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { type SharedService, shareService } from '../support/shared-service.ts';

/** Promised in docs/console.md for Brotli, with the heads; kept for gzip without them. */
const FIRST_VIEW_MAX_BYTES = 60_000;
const CODINGS = { br: brotliDecompressSync, gzip: gunzipSync };
const TYPES: readonly (readonly [end: RegExp, type: string])[] = [
  [/\.(ts|mjs|js)$/, 'text/javascript; charset=utf-8'],
  [/\.css$/, 'text/css; charset=utf-8'],
  [/\.svg$/, 'image/svg+xml; charset=utf-8'],
];

interface Answer {
  status: number;
  headers: IncomingHttpHeaders;
  rawHeaders: string[];
  body: Buffer;
}

let service: SharedService;
/** The version that the document names. */
let version: string;
let html: string;
let policy: string;

function ask(path: string, headers: Record<string, string> = {}, method = 'GET'): Promise<Answer> {
  const { hostname, port } = new URL(service.url);
  return new Promise((resolve, reject) => {
    const sent = request({ hostname, port, method, path, headers, agent: false }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () =>
        resolve({
          status: response.statusCode!,
          headers: response.headers,
          rawHeaders: response.rawHeaders,
          body: Buffer.concat(chunks),
        }),
      );
    });
    sent.on('error', reject);
    sent.end();
  });
}

/** Size of a response's head: the status line, and two more characters for each name and value. */
const headBytes = (rawHeaders: readonly string[]): number =>
  rawHeaders.reduce((sum, text) => sum + text.length + 2, 'HTTP/1.1 200 OK\r\n\r\n'.length);

const hashOf = (bytes: Buffer | string): string => `sha256-${createHash('sha256').update(bytes).digest('base64')}`;
const importMap = () => {
  const [, text] = /<script type="importmap">(.+?)<\/script>/.exec(html)!;
  return { text, ...(JSON.parse(text) as Record<'imports' | 'integrity', Record<string, string>>) };
};
/** Files that the document names, in its order. */
const namedFiles = () => [...new Set(Array.from(html.matchAll(/ (?:href|src)="([^"]+)"/g), ([, path]) => path))];

/** Follows the imports of the document's files, and returns the paths of all of them. */
async function allFiles(): Promise<string[]> {
  const { imports } = importMap();
  const found = new Set(namedFiles());
  for (const path of found) {
    if (!/\.(ts|mjs|js)$/.test(path)) continue;
    const source = (await ask(`/console/${path}`)).body.toString();
    const names = Array.from(
      source.matchAll(
        /(?:^|;)(?:import|export)\b(?:[^'"();=]*?\bfrom)?\s*['"]([^'"\n]+)['"]|\bimport\(\s*['"]([^'"]+)['"]/gm,
      ),
      ([, one, other]) => one ?? other,
    );
    for (const name of names) {
      const address = name.startsWith('.') ? new URL(name, `http://x/${path}`).pathname.slice(1) : imports[name];
      if (address === undefined) throw new Error(`${path} imports ${name}, which the import map does not name`);
      found.add(address.replace(/^\.\//, ''));
    }
  }
  return [...found];
}

beforeAll(async () => {
  service = await shareService();
  const answer = await ask('/console/');
  html = answer.body.toString();
  policy = `${answer.headers['content-security-policy']}`;
  [, version] = / src="([0-9a-f]{16})\//.exec(html)!;
});

describe('the document', () => {
  test('needs no key, is asked about each time, and cannot be framed', async () => {
    const { status, headers } = await ask('/console/');
    expect([status, headers['content-type'], headers['cache-control']]).toEqual([
      200,
      'text/html; charset=utf-8',
      'no-cache',
    ]);
    expect(headers).toMatchObject({
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'cross-origin-opener-policy': 'same-origin',
      'cross-origin-resource-policy': 'same-origin',
      vary: 'Accept-Encoding, Origin',
    });
    expect(policy).toContain("frame-ancestors 'none'");
    const known = await ask('/console/', { 'if-none-match': `${headers.etag}` });
    expect([known.status, known.body.length, known.headers['content-length']]).toEqual([304, 0, undefined]);
    expect((await ask('/console/', { 'if-none-match': 'W/"other"' })).status).toBe(200);
  });

  test('has a policy that lets in nothing but its own files and its import map', () => {
    expect(policy.split('; ').sort()).toEqual(
      [
        "default-src 'none'",
        `script-src 'self' '${hashOf(importMap().text)}'`,
        "style-src 'self'",
        "connect-src 'self'",
        "img-src 'self' data:",
        "font-src 'none'",
        "worker-src 'self'",
        "frame-ancestors 'none'",
        "base-uri 'none'",
        "form-action 'none'",
        "require-trusted-types-for 'script'",
        'trusted-types provec-worker',
      ].sort(),
    );
    expect(html).not.toMatch(/ style=|<style| on\w+=|https?:\/\//);
    expect(html.match(/<script/g)).toHaveLength(2);
  });

  test('is reached from the front page, and without the slash', async () => {
    expect((await ask('/')).body.toString()).toContain('<a href="/console/">');
    const { status, headers } = await ask('/console');
    expect([status, headers.location]).toEqual([308, 'console/']);
  });
});

describe('the files', () => {
  test('all are served with their type, for a year, and decode to the same bytes', async () => {
    const files = await allFiles();
    expect(files.length).toBeGreaterThan(60);
    for (const path of files) {
      const plain = await ask(`/console/${path}`);
      const [, type] = TYPES.find(([end]) => end.test(path))!;
      expect([path, plain.status, plain.headers['content-type']]).toEqual([path, 200, type]);
      expect(plain.headers).toMatchObject({
        'cache-control': 'public, max-age=31536000, immutable',
        'x-content-type-options': 'nosniff',
        'cross-origin-resource-policy': 'same-origin',
        'content-length': `${plain.body.length}`,
      });
      expect(plain.headers['content-encoding']).toBeUndefined();
      for (const [coding, decode] of Object.entries(CODINGS)) {
        const coded = await ask(`/console/${path}`, { 'accept-encoding': coding });
        expect([path, coded.headers['content-encoding']]).toEqual([path, coding]);
        expect(decode(coded.body).equals(plain.body)).toBe(true);
      }
    }
  });

  test('of packages have the integrity that the import map and the preloads name', async () => {
    const { integrity, imports } = importMap();
    const paths = Object.keys(integrity);
    expect(paths.length).toBeGreaterThanOrEqual(Object.keys(imports).length);
    for (const path of paths) expect(hashOf((await ask(`/console/${path.slice(2)}`)).body)).toBe(integrity[path]);
    for (const [, path, hash] of html.matchAll(/modulepreload" href="([^"]+)"(?: integrity="([^"]+)")?/g))
      expect([path, hash]).toEqual([path, integrity[`./${path}`]]);
  });

  test('include workers of pages, which may ask no server, and styles that pages add', async () => {
    const pages = `/console/${version}/services/gateway/console/app/pages`;
    for (const path of ['collection/map/plane-worker.ts', 'collection/transfer/parquet-worker.ts']) {
      const { status, headers, body } = await ask(`${pages}/${path}`);
      expect([path, status, headers['content-security-policy']]).toEqual([path, 200, "default-src 'none'"]);
      // Workers have no import map, so everything is in one script.
      expect(body.toString()).not.toMatch(/^\s*(?:import|export)\b/m);
      expect(namedFiles().join()).not.toContain(path);
    }
    for (const path of ['api/api.css', 'collection/browse/browse.css', 'collection/map/map.css'])
      expect([path, (await ask(`${pages}/${path}`)).headers['content-type']]).toEqual([
        path,
        'text/css; charset=utf-8',
      ]);
  });

  test('are few enough for the first view, with either coding', async () => {
    for (const coding of Object.keys(CODINGS)) {
      const answers = await Promise.all(
        ['', ...namedFiles()].map((path) => ask(`/console/${path}`, { 'accept-encoding': coding })),
      );
      const bytes = answers.map(({ body, rawHeaders }) => body.length + (coding === 'br' ? headBytes(rawHeaders) : 0));
      expect(bytes.reduce((sum, one) => sum + one, 0)).toBeLessThan(FIRST_VIEW_MAX_BYTES);
    }
  });

  test('are only those of the console', async () => {
    for (const path of [
      `/console/${version}/`,
      `/console/${version}`,
      `/console/${version}/package.json`,
      `/console/${version}/services/gateway/gateway.service.ts`,
      `/console/${version}/services/gateway/console/web-console.ts`,
      `/console/${version}/services/gateway/console/app/../web-console.ts`,
      `/console/${version}/%2e%2e/%2e%2e/package.json`,
      `/console/${version}/node_modules/preact/package.json`,
      `/console/${version}/__proto__`,
      '/console/services',
      '/console/%00',
    ]) {
      const { status, headers, body } = await ask(path);
      expect([path, status, headers['content-type'], headers['cache-control']]).toEqual([
        path,
        404,
        'text/html; charset=utf-8',
        'no-store',
      ]);
      expect(body.toString()).not.toContain('http-equiv="refresh"');
      expect(headers['content-security-policy']).toMatch(/^default-src 'none'/);
    }
  });

  test('of an earlier version lead to this one', async () => {
    for (const [path, home] of [
      ['', './'],
      ['/', '../'],
      ['/client/provec.ts', '../../'],
    ]) {
      const { status, body } = await ask(`/console/0123456789abcdef${path}`);
      expect([status, /content="0; url=([^"]+)"/.exec(body.toString())?.[1]]).toEqual([404, home]);
      expect(new URL(home, `http://x/console/0123456789abcdef${path}`).pathname).toBe('/console/');
    }
  });
});

test('HEAD has the headers alone, and other methods are refused', async () => {
  for (const path of ['/console/', `/console/${namedFiles()[0]}`, '/console/nothing']) {
    const [get, head] = await Promise.all([ask(path), ask(path, {}, 'HEAD')]);
    expect([head.status, head.body.length]).toEqual([get.status, 0]);
    for (const name of ['content-type', 'content-length', 'cache-control', 'etag'])
      expect([path, name, head.headers[name]]).toEqual([path, name, get.headers[name]]);
    const post = await ask(path, {}, 'POST');
    expect([post.status, post.headers.allow]).toEqual([405, 'GET, HEAD, OPTIONS']);
  }
});

test('metrics name the console once, whatever the paths', async () => {
  await ask('/console/a-path-that-a-client-made-up');
  const metrics = (await ask('/metrics')).body.toString();
  expect(metrics).toContain('route="/console/"');
  expect(metrics).not.toContain('made-up');
  expect(metrics).not.toContain(version);
});

describe('the verifier', () => {
  const WORKER = 'services/gateway/console/app/verifier/worker.ts';
  const NODES = 'https: http://127.0.0.1:* http://localhost:*';
  let page: Answer;
  let text: string;
  const files = () => [...new Set(Array.from(text.matchAll(/ (?:href|src)="\.\.\/([^"]+)"/g), ([, path]) => path!))];

  beforeAll(async () => {
    page = await ask('/console/verify/');
    text = page.body.toString();
  });

  test('has a policy that differs from the console’s in the nodes that it may ask, and in its import map', () => {
    const own = `${page.headers['content-security-policy']}`.split('; ');
    const [, map] = /<script type="importmap">(.+?)<\/script>/.exec(text)!;
    const expected = policy
      .split('; ')
      .map((rule) => (rule === "connect-src 'self'" ? `connect-src ${NODES}` : rule))
      .map((rule) => (rule.startsWith('script-src') ? `script-src 'self' '${hashOf(map!)}'` : rule));
    expect(own).toEqual(expected);
    expect(page.headers).toMatchObject({ 'cache-control': 'no-cache', 'x-content-type-options': 'nosniff' });
    expect(text).not.toMatch(/ style=|<style| on\w+=|https?:\/\//);
  });

  test('is reached from the front page, and without the slash', async () => {
    expect((await ask('/')).body.toString()).toContain('<a href="/console/verify/">');
    const { status, headers } = await ask('/console/verify');
    expect([status, headers.location]).toEqual([308, 'verify/']);
    const known = await ask('/console/verify/', { 'if-none-match': `${page.headers.etag}` });
    expect([known.status, known.body.length]).toEqual([304, 0]);
  });

  test('loads few files, and none that talks to this service', async () => {
    expect(files().length).toBeGreaterThan(20);
    for (const coding of Object.keys(CODINGS)) {
      const paths = ['verify/', ...files()];
      const answers = await Promise.all(paths.map((path) => ask(`/console/${path}`, { 'accept-encoding': coding })));
      expect(answers.map(({ status }) => status)).toEqual(paths.map(() => 200));
      const bytes = answers.map(({ body, rawHeaders }) => body.length + (coding === 'br' ? headBytes(rawHeaders) : 0));
      expect(bytes.reduce((sum, one) => sum + one, 0)).toBeLessThan(FIRST_VIEW_MAX_BYTES);
    }
    expect(files().filter((path) => /\/client\/|\/app\/(?:data|pages)\//.test(path))).toEqual([]);
  });

  test('checks in a worker whose own policy allows nodes of the ledger alone', async () => {
    const { headers, body } = await ask(`/console/${version}/${WORKER}`);
    expect(headers).toMatchObject({
      'content-type': 'text/javascript; charset=utf-8',
      'cache-control': 'public, max-age=31536000, immutable',
      'content-security-policy': `default-src 'none'; connect-src ${NODES}`,
    });
    // Workers have no import map, so everything is in one script.
    expect(body.toString()).not.toMatch(/^\s*(?:import|export)\b/m);
  });

  test('is one file to save, whose policy has the hashes of all that it runs', async () => {
    const { headers, body } = await ask('/console/verify/provec-verify.html');
    const file = body.toString();
    expect(headers).toMatchObject({
      'content-type': 'text/html; charset=utf-8',
      'content-disposition': 'attachment; filename="provec-verify.html"',
      'cache-control': 'no-cache',
    });
    const [, own] = /<meta http-equiv="Content-Security-Policy" content="([^"]+)">/.exec(file)!;
    const [, style] = /<style>([\s\S]*?)<\/style>/.exec(file)!;
    const [, script] = /<script type="module">([\s\S]*?)<\/script>/.exec(file)!;
    expect(own!.split('; ').sort()).toEqual(
      [
        "default-src 'none'",
        `script-src '${hashOf(script!)}'`,
        `style-src '${hashOf(style!)}'`,
        `connect-src ${NODES}`,
        'worker-src blob:',
        "base-uri 'none'",
        "form-action 'none'",
        "require-trusted-types-for 'script'",
        'trusted-types provec-worker',
      ].sort(),
    );
    expect(file.match(/<script/g)).toHaveLength(2);
    expect(file).not.toMatch(/ (?:src|href)="/);
    expect(body.length).toBeLessThan(250_000);
  });
});
