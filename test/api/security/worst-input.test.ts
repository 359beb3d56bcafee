/**
 * Sends every operation of the OpenAPI documents its largest legal input. No turn of the event
 * loop takes more than 100 ms of processor time, 200 ms for writes, and a read ends within a second
 * after its client has left.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { ApiDocument, type ApiOperation, type Json } from '../../support/api-document.ts';
import type { LeavingOrder, LeavingReply } from '../../support/leaving-client.ts';
import { LoopWatch } from '../../support/loop-watch.ts';
import { startService, type TestService } from '../../support/service.ts';
import { ADMIN_TOKEN, TEST_KEY } from '../../support/tenant.ts';
import { WorstBodies, type WorstValues } from '../../support/worst-bodies.ts';

const HELD_MAX_MS = 100;
/** For writes of 1,000 records with 40 KiB of metadata each, which leave much garbage. */
const WRITE_HELD_MAX_MS = 200;
const ENDS_WITHIN_MS = 1_000;
/** Rounds per call; the median counts, since the first compiles and any may meet a collection. */
const ROUNDS = 3;
const DIMENSIONS = 256;
const RECORDS = 20_000;
const BATCH = 500;
const NAMESPACES = 20_000;
const NAMESPACES_BATCH = 200;
const KEYS = 1_000;
const COLLECTIONS = 300;
const SHARDS = 4;
/** Loaded processor below which the service counts as idle: timers and collectors keep running. */
const IDLE_SHARE = 0.3;
const IDLE_WINDOW_MS = 50;
const IDLE_WINDOWS = 4;

interface Call {
  name: string;
  method: string;
  path: string;
  token: string;
  body: unknown;
  isRead: boolean;
  /** Leaves nothing for a second time. */
  isDestructive: boolean;
}

let service: TestService;
let folder: string;

const idOf = (at: number): string => `${'record-'.repeat(60)}${at}`;
const namespaceOf = (at: number): string => `${'namespace-'.repeat(20)}${at}`;
const longText = (at: number, length: number): string =>
  `${'common '.repeat(Math.ceil(length / 7))}`.slice(0, length) + at;
const vectorOf = (at: number): number[] => Array.from({ length: DIMENSIONS }, (_, axis) => Math.sin(at * 131 + axis));

/** 40 KiB in as many members as one may filter by. */
const wideMetadata = Object.fromEntries(
  Array.from({ length: 600 }, (_, at) => [`field-${at}`, `${at}`.padEnd(48, 'v')]),
);

/** As much as fits beside what records have. */
const halfMetadata = Object.fromEntries(Object.entries(wideMetadata).slice(0, 300));

const recordOf = (at: number): Json => ({
  id: idOf(at),
  values: vectorOf(at),
  metadata: {
    at,
    group: longText(at % 1_000, at < 2_000 ? 8_000 : 40),
    list: Array.from({ length: 20 }, (_, i) => `${at % 7}-${i}`),
  },
});

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

function callsOf(document: ApiDocument, isCalled: (path: string) => boolean): Call[] {
  return document.operations
    .filter(({ method, path }) => isCalled(path) && !LEFT_OUT.test(`${method} ${path}`))
    .flatMap(({ method, path, operation }) => callsOfOperation(document, method, path, operation))
    .toSorted((one, other) => Number(one.isDestructive) - Number(other.isDestructive));
}

function callsOfOperation(document: ApiDocument, method: string, path: string, operation: ApiOperation): Call[] {
  const schema = operation.requestBody?.content?.['application/json']?.schema;
  const names: Readonly<Record<string, string>> = path.startsWith('/pinecone')
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

async function load(): Promise<void> {
  const { api } = service;
  await api('POST', '/collections', { name: 'docs', dimensions: DIMENSIONS, shards: SHARDS });
  for (let from = 0; from < RECORDS; from += BATCH)
    await api('POST', '/collections/docs/upsert', {
      records: Array.from({ length: BATCH }, (_, at) => recordOf(from + at)),
    });
  for (let from = 0; from < NAMESPACES; from += NAMESPACES_BATCH)
    await Promise.all(
      Array.from({ length: NAMESPACES_BATCH }, (_, at) =>
        api('POST', '/collections/docs/upsert', {
          namespace: namespaceOf(from + at),
          records: [{ id: 'only', values: vectorOf(at) }],
        }),
      ),
    );
  for (let at = 0; at < KEYS; at++) await api('POST', '/keys', { name: `key ${at}`, scopes: ['read'] });
  for (let at = 0; at < COLLECTIONS; at++) await api('POST', '/collections', { name: `empty-${at}`, dimensions: 2 });
  await api('PUT', '/aliases/current', { collection: 'docs' });
}

beforeAll(async () => {
  service = await startService({ PROVEC_LEDGER: 'off', PROVEC_ADMIN_TOKEN: ADMIN_TOKEN });
  folder = await mkdtemp(join(tmpdir(), 'provec-worst-'));
  await load();
}, 1_200_000);
afterAll(async () => {
  await service?.stop();
  await rm(folder, { recursive: true, force: true });
});

async function send(call: Call, leaveAfterMs: number | null): Promise<LeavingReply> {
  const bodyFile = call.body === undefined ? null : join(folder, 'body.json');
  if (bodyFile !== null) await writeFile(bodyFile, JSON.stringify(call.body));
  const client: ChildProcess = fork(new URL('../../support/leaving-client.ts', import.meta.url), { stdio: 'ignore' });
  const order: LeavingOrder = {
    url: service.url + call.path,
    method: call.method,
    headers: { authorization: `Bearer ${call.token}`, 'api-key': call.token, 'content-type': 'application/json' },
    bodyFile,
    leaveAfterMs,
  };
  client.send(order);
  const [reply] = (await once(client, 'message')) as [LeavingReply];
  if (client.exitCode === null) await once(client, 'exit');
  return reply;
}

/** Processor time of this process, in milliseconds. */
function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}

/** Milliseconds until this process used little processor time for some windows in a row. */
async function untilIdle(): Promise<number> {
  const beganMs = performance.now();
  for (let idle = 0; idle < IDLE_WINDOWS; ) {
    const [beforeMs, before] = [performance.now(), cpuMs()];
    await new Promise((resolve) => setTimeout(resolve, IDLE_WINDOW_MS));
    idle = cpuMs() - before < IDLE_SHARE * (performance.now() - beforeMs) ? idle + 1 : 0;
  }
  return performance.now() - beganMs - IDLE_WINDOWS * IDLE_WINDOW_MS;
}

/** Their names are made by the service. */
const UNKNOWN = /\/verifications\/\{id\}$/;
const operationOf = ({ name }: { name: string }): string => name.replace(/ \(\d+\)$/, '');

const medianOf = (values: number[]): number => values.toSorted((one, other) => one - other)[values.length >> 1]!;

interface Measured {
  name: string;
  status: number;
  tookMs: number;
  heldMs: number;
  endedMs: number | null;
  error: string;
}

async function measure(call: Call): Promise<Measured> {
  const held: number[] = [];
  let reply!: LeavingReply;
  for (let round = 0; round < ROUNDS; round++) {
    await untilIdle();
    const watch = new LoopWatch();
    reply = await send(call, null);
    held.push(await watch.end());
    if (call.isDestructive) break;
  }
  const { status, tookMs, error } = reply;
  let endedMs: number | null = null;
  if (call.isRead) {
    await untilIdle();
    await send(call, tookMs / 2);
    endedMs = await untilIdle();
  }
  return { name: call.name, status, tookMs, heldMs: medianOf(held), endedMs, error };
}

test.each([
  ['/openapi.json', '/api/v1/'],
  ['/pinecone/openapi.json', '/pinecone/'],
])(
  'operations of %s block the event loop only briefly, and reads end soon after their client disconnects',
  async (path, base) => {
    const document = new ApiDocument(await (await fetch(service.url + path)).json());
    const measured: Measured[] = [];
    for (const call of callsOf(document, (each) => each.startsWith(base))) {
      const one = await measure(call);
      measured.push(one);
      console.log(JSON.stringify(one));
    }
    const taken = new Set(measured.filter(({ status }) => status < 300).map(operationOf));
    expect(measured.map(operationOf).filter((name) => !taken.has(name) && !UNKNOWN.test(name))).toEqual([]);
    expect(measured.filter(({ status }) => status >= 500 || status === 0)).toEqual([]);
    expect(
      measured.filter(({ heldMs, endedMs }) => heldMs > (endedMs === null ? WRITE_HELD_MAX_MS : HELD_MAX_MS)),
    ).toEqual([]);
    expect(measured.filter(({ endedMs }) => endedMs !== null && endedMs > ENDS_WITHIN_MS)).toEqual([]);
  },
  1_200_000,
);
