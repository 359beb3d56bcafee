import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { LIMITS } from '../../lib/limits.ts';
import { openApiDocument } from '../../services/gateway/openapi/document.ts';
import { pineconeDocument } from '../../services/gateway/pinecone/openapi/document.ts';
import { ApiDocument, type ApiOperation } from '../support/api-document.ts';

const ROOT = new URL('../../', import.meta.url);
const PAGES = [
  'README.md',
  'CONTRIBUTING.md',
  'client/README.md',
  'k8s/README.md',
  ...readdirSync(new URL('docs/', ROOT), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
];
const BASE = '/api/v1';

const METHOD = '(?<method>GET|POST|PUT|PATCH|DELETE)';
const FORMS = [
  // In a sentence; in an HTTP block, with a body; as arguments of the shell function `call` in
  // recipes.
  `\\b${METHOD} ["']?(?<target>/[^\\s\`"'),;]*)(?:\\n\\n(?<block>[{[][^\`]*)|[^\\n|]*? --json '(?<json>[^']*)'(?!\\$))?`,
  // Python and JavaScript.
  `["']${METHOD}["'], f?["'\`](?<target>/[^"'\`]*)`,
  // curl: a body makes the request a POST.
  `\\bcurl [^\\n]*?\\$API(?<target>/[^\\s"']+)(?:[^\\n]*?(?: \\\\\\n +)?-d '(?<json>[^']*)')?`,
].map((form) => new RegExp(form, 'g'));

interface Printed {
  method: string;
  path: string;
  parameters: string[];
  /** The body as printed; null when there is none, or when a program builds it. */
  body: string | null;
}

const DOCUMENTS = [openApiDocument({ limits: LIMITS, adminToken: 'any' }), pineconeDocument({ limits: LIMITS })].map(
  (json) => new ApiDocument(json),
);

const printedOn = (page: string): Printed[] =>
  FORMS.flatMap((form) => Array.from(readFileSync(new URL(page, ROOT), 'utf8').matchAll(form), printed));

function printed({ groups }: RegExpExecArray): Printed {
  const body = groups!.block ?? groups!.json ?? null;
  const [path, query = ''] = groups!.target!.replace(/[.:]$/, '').split('?') as [string, string?];
  const parameters = query.split('&').flatMap((each) => (each === '' ? [] : [each.split('=')[0]!]));
  return { method: groups!.method ?? (body === null ? 'GET' : 'POST'), path, parameters, body };
}

/**
 * Finds the operation, with any text as a parameter. Pages may leave out the beginning of a path.
 */
function operationOf(document: ApiDocument, { method, path }: Printed): ApiOperation | undefined {
  const matching = (pattern: string) =>
    new RegExp(`^(${BASE})?${pattern.replace(BASE, '').replaceAll(/\{\w+\}/g, '[^/]+')}$`);
  return document.operations.find((each) => each.method === method && matching(each.path).test(path))?.operation;
}

/** Differences between a printed request and the document. */
function faultsOf(request: Printed): string[] {
  const document = DOCUMENTS.find((each) => operationOf(each, request) !== undefined);
  if (document === undefined) return ['there is no such operation'];
  const operation = operationOf(document, request)!;
  const known = (operation.parameters ?? []).map(({ name }) => name);
  const unknown = request.parameters.filter((name) => !known.includes(name)).map((name) => `no parameter ${name}`);
  if (request.body === null) return unknown;
  const [[type, { schema }]] = Object.entries(operation.requestBody!.content!) as [
    [string, { schema: Record<string, unknown> }],
  ];
  const bodies = type === 'application/json' ? [request.body] : request.body.trimEnd().split('\n');
  const validate = document.compile(schema);
  return [
    ...unknown,
    ...bodies.flatMap((body) =>
      validate(JSON.parse(body)) ? [] : validate.errors!.map(({ message }) => `${message}`),
    ),
  ];
}

test.each(PAGES)('requests on %s match the OpenAPI document', (page) => {
  for (const request of printedOn(page)) expect([request, faultsOf(request)]).toEqual([request, []]);
});

test('finds requests on the pages, in each form, and their bodies', () => {
  const counts = (page: string) => [printedOn(page).length, printedOn(page).filter(({ body }) => body !== null).length];
  expect(counts('README.md').map((count) => count >= 3)).toEqual([true, true]);
  expect(counts('docs/recipes.md').map((count) => count >= 7)).toEqual([true, true]);
  expect(counts('docs/api.md')[1]).toBeGreaterThanOrEqual(
    DOCUMENTS[0].operations.filter(({ operation }) => operation.requestBody).length,
  );
  expect(
    faultsOf({ method: 'POST', path: '/collections/notes/query', parameters: ['k'], body: '{"vector": "a"}' }),
  ).toEqual(['no parameter k', 'must be array']);
  expect(faultsOf({ method: 'GET', path: '/collection', parameters: [], body: null })).toEqual([
    'there is no such operation',
  ]);
});
