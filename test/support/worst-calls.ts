/** Requests to every operation of a dialect, each with the largest input that is legal. */
import { PROVEC } from '../../services/gateway/dialect.ts';
import { PINECONE } from '../../services/gateway/pinecone/dialect.ts';
import { RECALL } from '../../services/gateway/recall/dialect.ts';
import { RECALL_ROUTES } from '../../services/gateway/recall/routes.ts';
import type { ApiDocument, ApiOperation, Json } from './api-document.ts';
import { ADMIN_TOKEN, TEST_KEY } from './tenant.ts';
import { WorstBodies, type WorstValues } from './worst-bodies.ts';
import { idOf, longText, namespaceOf, vectorOf } from './worst-collection.ts';

export interface WorstCall {
  name: string;
  method: string;
  path: string;
  token: string;
  body: unknown;
  isRead: boolean;
  /** Leaves nothing for a second time. */
  isDestructive: boolean;
}

/** 40 KiB in as many members as one may filter by. */
const wideMetadata = Object.fromEntries(
  Array.from({ length: 600 }, (_, at) => [`field-${at}`, `${at}`.padEnd(48, 'v')]),
);

/** As much as fits beside what records have. */
const halfMetadata = Object.fromEntries(Object.entries(wideMetadata).slice(0, 300));

/** Eight levels, 256 conditions, 100,000 values in lists. */
function worstFilter(): Json {
  const lists = Array.from({ length: 10 }, (_, list) => ({
    group: { $in: Array.from({ length: 10_000 }, (_, at) => longText(list * 10_000 + at, 40)) },
  }));
  const conditions = Array.from({ length: 240 }, (_, at) => ({ list: { $ne: `${at}-none` } }));
  let filter: Json = { $and: [{ $or: [...lists, { at: { $gte: 0 } }] }, ...conditions] };
  for (let level = 0; level < 2; level++) filter = { $not: { $not: filter } };
  return filter;
}

const ids = Array.from({ length: 1_000 }, (_, at) => idOf(at));
const records = Array.from({ length: 1_000 }, (_, at) => ({
  id: idOf(at),
  values: vectorOf(at),
  metadata: wideMetadata,
}));
const updates = ids.map((id, at) => ({ id, values: vectorOf(at), setMetadata: wideMetadata }));

const VALUES: WorstValues = {
  vector: vectorOf(1),
  values: vectorOf(1),
  id: idOf(1),
  ids,
  filter: { $and: [{ at: { $gte: 0 } }] },
  field: 'group',
  prefix: 'record-',
  cursor: undefined,
  paginationToken: undefined,
  scoreThreshold: undefined,
  dryRun: true,
  exact: true,
  metadata: wideMetadata,
  setMetadata: halfMetadata,
  unsetMetadata: Array.from({ length: 1_000 }, (_, at) => `other-${at}`),
  queries: Array.from({ length: 100 }, (_, at) => ({
    vector: vectorOf(at),
    topK: 200,
    includeValues: true,
    exact: true,
  })),
  records,
  vectors: records,
  updates,
  sparseVector: undefined,
  sparseValues: undefined,
};

/** Records of one namespace or of all, chosen by a cheap filter or by the costliest. */
const SCOPES: readonly WorstValues[] = [
  { namespace: '', allNamespaces: undefined },
  { namespace: '', allNamespaces: undefined, filter: worstFilter() },
  { namespace: undefined, allNamespaces: true, prefix: undefined, filter: worstFilter() },
];

/** Path parameters and what a GET asks for. */
const PATH_VALUES: Readonly<Record<string, string>> = {
  name: 'docs',
  alias: 'current',
  namespace: namespaceOf(0),
  id: 'absent',
};
const SEARCHES: readonly [end: string, search: string][] = [
  ['/namespaces', '?limit=1000'],
  ['/collections', '?limit=1000'],
  ['/aliases', '?limit=1000'],
  ['/keys', '?limit=1000'],
  ['/accounts', '?limit=1000'],
  ['/anchors', '?limit=1000'],
  ['/proof', `?id=${encodeURIComponent(idOf(1))}`],
  ['/vectors/fetch', `?${ids.map((id) => `ids=${encodeURIComponent(id)}`).join('&')}`],
  ['/vectors/list', '?limit=100&prefix=record-'],
];
/** They change what the others are measured on, or have tests of their own (imports). */
const LEFT_OUT = /^(DELETE (?!.*namespaces)|POST .*\/(collections|indexes|import|keys|accounts)$|PATCH |PUT )/;
const DESTRUCTIVE = /^DELETE |^POST \/pinecone.*\/delete$/;
const READS = /^GET |\/(query|queries|fetch|fetch_by_metadata|count|facets|list|describe_index_stats)$/;

interface Operation {
  method: string;
  path: string;
  /** Undefined if it has no body. */
  schema: Json | undefined;
}

/** Operations of the document below a path. */
function operationsBelow(base: string, document: ApiDocument): Operation[] {
  const schemaOf = ({ requestBody }: ApiOperation) => requestBody?.content?.['application/json']?.schema;
  return document.operations
    .filter(({ path }) => path.startsWith(base))
    .map(({ method, path, operation }) => ({ method, path, schema: schemaOf(operation) }));
}

/** Operations of the dialect without a document. Their bodies are as those of `/api/v1`. */
function recallOperations(document: ApiDocument): Operation[] {
  const operations = operationsBelow(PROVEC.base, document);
  return RECALL_ROUTES.map(({ method, path }) => {
    const same = operations.find((each) => each.method === method && each.path === PROVEC.base + path);
    return { method, path: RECALL.base + path, schema: same?.schema };
  });
}

/** Returns the calls of a dialect, those that leave nothing for others last. */
export function worstCalls(base: string, document: ApiDocument): WorstCall[] {
  const operations = base === RECALL.base ? recallOperations(document) : operationsBelow(base, document);
  return operations
    .filter(({ method, path }) => !LEFT_OUT.test(`${method} ${path}`))
    .flatMap((operation) => callsOf(document, operation))
    .toSorted((one, other) => Number(one.isDestructive) - Number(other.isDestructive));
}

function callsOf(document: ApiDocument, { method, path, schema }: Operation): WorstCall[] {
  const names: Readonly<Record<string, string>> = path.startsWith(PINECONE.base)
    ? { ...PATH_VALUES, namespace: namespaceOf(1) }
    : PATH_VALUES;
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => names[name]!);
  const [, search = ''] = SEARCHES.find(([end]) => method === 'GET' && path.endsWith(end)) ?? [];
  const token = path.includes('/admin/') ? ADMIN_TOKEN : TEST_KEY;
  const call = {
    method,
    path: filled + search,
    token,
    isRead: READS.test(`${method} ${path}`),
    isDestructive: DESTRUCTIVE.test(`${method} ${path}`),
  };
  if (schema === undefined) return [{ ...call, name: `${method} ${path}`, body: undefined }];
  const bodies = SCOPES.flatMap((scope) => new WorstBodies(document, { ...VALUES, ...scope }).of(schema));
  return bodies.map((body, at) => ({ ...call, name: `${method} ${path} (${at})`, body }));
}
