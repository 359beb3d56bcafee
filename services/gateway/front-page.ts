import type { PlainAnswer, Readiness } from '../../mixins/health/health-pages.ts';

const ORIGIN = /^https?:\/\/(?:[A-Za-z0-9.-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\])(?::\d{1,5})?$/;
const STYLE =
  'body{font:16px/1.5 system-ui,sans-serif;max-width:46rem;margin:4rem auto;padding:0 1rem;color:#1c1c1c}pre{background:#f4f4f2;padding:1rem;overflow-x:auto}';

/**
 * Page for a browser at `/`: what Provec is, its state, and a first request ready to paste.
 * `origin` has the request's Host header. The page has no scripts and shows no tenant's data.
 */
export function frontPage(origin: string, state: Readiness['status']): PlainAnswer {
  const address = ORIGIN.test(origin) ? origin : 'http://127.0.0.1:8080';
  const first = [
    `curl -s ${address}/api/v1/collections \\`,
    `  -H "Authorization: Bearer $KEY" -H 'Content-Type: application/json' \\`,
    `  -d '{"name": "notes", "dimensions": 4}'`,
  ].join('\n');
  const links = ['openapi.json', 'readyz', 'livez', 'metrics'].map((path) => `<a href="/${path}">/${path}</a>`);
  const body = [
    '<h1>Provec</h1>',
    '<p>A vector database that can prove what it stores.</p>',
    `<p>State: <strong id="state">${state}</strong></p>`,
    '<p><a href="/console/">Open the console</a>, or stay in the shell.</p>',
    '<p>Someone gave you a proof? <a href="/console/verify/">Verify it</a>, without a key.</p>',
    '<p>Create a collection, with the key that the first start printed in <code>KEY</code>:</p>',
    `<pre>${escaped(first)}</pre>`,
    `<p>${links.join(' · ')}</p>`,
  ].join('\n');
  return {
    status: 200,
    type: 'text/html; charset=utf-8',
    body: `<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>Provec</title>\n<style>${STYLE}</style>\n</head>\n<body>\n${body}\n</body>\n</html>\n`,
    headers: {
      'Content-Security-Policy': "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
      'X-Content-Type-Options': 'nosniff',
    },
  };
}

const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
const escaped = (text: string): string => text.replaceAll(/[&<>"]/g, (char) => ENTITIES[char] ?? char);
