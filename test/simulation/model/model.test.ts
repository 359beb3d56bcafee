/**
 * Random operations over real HTTP against a real process, compared with a model after each one: no
 * acknowledged write is lost, no deleted record comes back, and every root matches the model's.
 * PROVEC_TEST_OPERATIONS sets their number (300 in the gate, 20,000 in the long suite).
 */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { verifyExport } from '../../../client/index.ts';
import type { Verification } from '../../../contracts/actions/verification.ts';
import { type ServiceProcess, startServiceProcess } from '../../../examples/service-process.ts';
import { parseJson } from '../../../lib/json/text.ts';
import { isThorough } from '../../support/effort.ts';
import { invariant } from '../../support/invariant.ts';
import { seed } from '../../support/seed.ts';
import { until } from '../../support/until.ts';
import { CollectionModel, type NamespaceModel } from './collection-model.ts';
import { DIMENSIONS, type ModelQuery, type OfNamespace, type Operation, operation } from './operation.ts';

const OPERATIONS = Number(process.env.PROVEC_TEST_OPERATIONS ?? (isThorough ? 20_000 : 300));
const RUN_OPERATIONS = Math.min(OPERATIONS, isThorough ? 2_000 : 150);
const KEY = 'pv_live_model-test-key';
const SCORE_TOLERANCE = 1e-6;

class Subject {
  #folder = mkdtempSync(join(tmpdir(), 'provec-model-'));
  #service: ServiceProcess | null = null;

  async start(): Promise<void> {
    this.#service = await startServiceProcess(join(this.#folder, 'data'), KEY, { PROVEC_LEDGER: 'off' });
  }

  async end(signal: NodeJS.Signals): Promise<void> {
    await this.#service?.stop(signal);
  }

  async call<T>(method: string, path: string, body?: unknown): Promise<T> {
    const text = await this.send(
      method,
      path,
      'application/json',
      body === undefined ? undefined : JSON.stringify(body),
    );
    return parseJson(text) as T;
  }

  async send(method: string, path: string, type: string, body?: string): Promise<string> {
    const response = await fetch(`${this.#service!.url}/api/v1${path}`, {
      method,
      headers: { authorization: `Bearer ${KEY}`, 'content-type': type },
      body,
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return text;
  }

  remove(): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

type Matches = { id: string; score: number; metadata: unknown }[];

interface Answers {
  upsertedCount: number;
  importedCount: number;
  deletedCount: number;
  merkleRoot: string;
  vectorCount: number;
  vectors: Record<string, { id: string; values: number[]; metadata: unknown }>;
  count: number;
  values: { value: unknown; count: number }[];
  missing: number;
  matches: Matches;
  results: { matches: Matches }[];
  records: { id: string; values: number[]; metadata: unknown }[];
  nextCursor?: string;
  namespaces: { name: string; vectorCount: number }[];
  alias: string;
  collection: string;
}
/** State of a listing: its cursor, and the last id that it returned. */
interface Listing {
  cursor?: string;
  after: string | null;
}

/** A collection and its model. */
interface Run {
  subject: Subject;
  name: string;
  model: CollectionModel;
  /** Listings by namespace. */
  listings: Map<string, Listing>;
  /** The collection that the alias points to. */
  aliased: string | null;
}

/** A collection that stays empty. */
const OTHER = 'other';
const aliasOf = ({ name }: Run) => `alias-of-${name}`;

const filterOf = (group: number | null) => (group === null ? {} : { filter: { group } });

const bodyOf = ({ vector, topK, group }: ModelQuery) => ({ vector, topK, ...filterOf(group) });

/** Expects the right number of matches, with the best scores; ties may be resolved in any way. */
function expectBest(matches: Matches, model: NamespaceModel, { vector, topK, group }: ModelQuery): void {
  const expected = model.query(vector, topK, group);
  expect(matches.length).toBe(expected.length);
  matches.forEach(({ score }, at) => {
    expect(Math.abs(score - expected[at]!.score)).toBeLessThanOrEqual(SCORE_TOLERANCE);
  });
  const scores = new Map(model.query(vector, model.size, group).map(({ id, score }) => [id, score]));
  for (const { id, score } of matches) expect(Math.abs(score - scores.get(id)!)).toBeLessThanOrEqual(SCORE_TOLERANCE);
}

async function step(run: Run, op: Operation): Promise<void> {
  const { subject, name, model } = run;
  const path = `/collections/${name}`;
  switch (op.kind) {
    case 'alias':
      return stepAlias(run, op.target && { own: name, other: OTHER }[op.target]);
    case 'verification': {
      const begun = await subject.call<Verification>('POST', `${path}/verifications`);
      const ended = await until('it has ended', async () => {
        const found = await subject.call<Verification>('GET', `${path}/verifications/${begun.id}`);
        return found.state !== 'running' && found;
      });
      const result = { computedRoot: model.root(), vectorCount: model.size, state: 'not_anchored' };
      const progress = { scanned: model.size, total: model.size };
      expect(ended).toMatchObject({ state: 'done', progress, result });
      return;
    }
    case 'namespaces': {
      const { namespaces } = await subject.call<Answers>('GET', `${path}/namespaces`);
      expect(namespaces).toEqual(model.held());
      return;
    }
    case 'export': {
      const lines = (await subject.send('GET', `${path}/export`, 'application/json')).split('\n');
      expect(await verifyExport(lines)).toMatchObject({ merkleRoot: model.root(), vectorCount: model.size });
      return;
    }
    case 'restart':
      await subject.end('SIGTERM');
      return subject.start();
    case 'kill':
      await subject.end('SIGKILL');
      return subject.start();
    default:
      return stepIn(run, op);
  }
}

async function stepAlias(run: Run, target: string | null): Promise<void> {
  const { subject, name, model } = run;
  const path = `/aliases/${aliasOf(run)}`;
  if (target === null) {
    const answer = subject.call('DELETE', path);
    if (run.aliased === null) await expect(answer).rejects.toThrow('ALIAS_NOT_FOUND');
    else await answer;
  } else await subject.call('PUT', path, { collection: target });
  run.aliased = target;
  const count = subject.call<Answers>('POST', `/collections/${aliasOf(run)}/count`, {});
  if (target === null) return expect(count).rejects.toThrow('COLLECTION_NOT_FOUND');
  expect(await count).toEqual({ count: target === name ? model.in('').size : 0 });
  expect(await subject.call('GET', path)).toEqual({ alias: aliasOf(run), collection: target });
  await expect(subject.call('DELETE', `/collections/${target}`)).rejects.toThrow('COLLECTION_HAS_ALIAS');
}

async function stepIn(run: Run, { namespace, byAlias, ...op }: OfNamespace): Promise<void> {
  const { subject, name, listings, model: collection } = run;
  const path = `/collections/${byAlias && run.aliased === name ? aliasOf(run) : name}`;
  const model = collection.in(namespace);
  /** The default namespace is left out. */
  const named = namespace === '' ? {} : { namespace };
  const post = <T = Answers>(operation: string, body: object) =>
    subject.call<T>('POST', `${path}/${operation}`, { ...named, ...body });
  const written = () => ({ vectorCount: collection.size, merkleRoot: collection.root() });
  switch (op.kind) {
    case 'upsert': {
      const answer = await post('upsert', { records: op.records });
      model.upsert(op.records);
      expect(answer).toMatchObject({
        upsertedCount: new Set(op.records.map(({ id }) => id)).size,
        ...written(),
      });
      return;
    }
    case 'delete': {
      const answer = await post('delete', { ids: op.ids });
      expect(answer).toMatchObject({
        deletedCount: model.delete(op.ids),
        ...written(),
      });
      return;
    }
    case 'fetch': {
      const { vectors } = await post('fetch', { ids: op.ids });
      const expected = model.fetch(op.ids);
      expect(Object.keys(vectors).sort()).toEqual([...expected.keys()].sort());
      for (const [id, record] of expected) expect(Object.getOwnPropertyDescriptor(vectors, id)?.value).toEqual(record);
      return;
    }
    case 'query': {
      const { matches } = await post('query', bodyOf(op));
      expectBest(matches, model, op);
      return;
    }
    case 'queries': {
      const queries = op.queries.map((query) => ({ ...named, ...bodyOf(query) }));
      const { results } = await subject.call<Answers>('POST', `${path}/queries`, { queries });
      expect(results).toHaveLength(op.queries.length);
      for (const [at, query] of op.queries.entries()) expectBest(results[at].matches, model, query);
      return;
    }
    case 'import': {
      const lines = op.records.map((record) => `${JSON.stringify({ ...record, ...named })}\n`).join('');
      const answer = parseJson(await subject.send('POST', `${path}/import`, 'application/x-ndjson', lines));
      model.upsert(op.records);
      const importedCount = new Set(op.records.map(({ id }) => id)).size;
      expect(answer).toMatchObject({ importedCount, ...written() });
      return;
    }
    case 'update': {
      const answer = await post('update', { updates: op.updates });
      expect(answer).toMatchObject({ ...model.update(op.updates), ...written() });
      return;
    }
    case 'merge': {
      const answer = await post('update', { filter: { group: op.group }, ...op.merge });
      const counts = model.update(model.idsOf(op.group).map((id) => ({ id, ...op.merge })));
      expect(answer).toMatchObject({ ...counts, ...written() });
      return;
    }
    case 'delete group':
    case 'delete all': {
      const group = op.kind === 'delete all' ? null : op.group;
      const body = group === null ? { all: true } : { filter: { group } };
      const answer = await post('delete', body);
      const deletedCount = model.delete(model.idsOf(group));
      expect(answer).toMatchObject({ deletedCount, ...written() });
      return;
    }
    case 'count': {
      const { count } = await post('count', filterOf(op.group));
      expect(count).toBe(model.idsOf(op.group).length);
      return;
    }
    case 'facets': {
      const body = { field: op.field, limit: 1_000, ...filterOf(op.group) };
      const { values, missing } = await post('facets', body);
      const counts = new Map(values.map(({ value, count }) => [value, count]));
      expect({ counts, missing }).toEqual(model.facets(op.field, op.group));
      return;
    }
    case 'list': {
      const { prefix, group, limit } = op;
      const listing = listings.get(namespace) ?? { after: null };
      listings.set(namespace, listing);
      const include = { includeValues: true, includeMetadata: true };
      const range = {
        ...(prefix !== null && { prefix }),
        ...(listing.cursor !== undefined && { cursor: listing.cursor }),
      };
      const body = { ...range, ...filterOf(group), ...include, limit };
      const { records, nextCursor } = await post('list', body);
      const expected = model.list({ prefix, group, after: listing.after });
      expect([records, nextCursor !== undefined]).toEqual([expected.slice(0, limit), expected.length > limit]);
      listing.cursor = nextCursor;
      listing.after = nextCursor === undefined ? null : expected[limit - 1]!.id;
      return;
    }
    case 'delete namespace': {
      const answer = subject.call('DELETE', `${path}/namespaces/${encodeURIComponent(namespace)}`);
      // The path of the default namespace is the path of all namespaces.
      if (namespace === '') return expect(answer).rejects.toThrow('ROUTE_NOT_FOUND');
      const deletedCount = model.delete(model.idsOf(null));
      if (deletedCount === 0) await expect(answer).rejects.toThrow('NAMESPACE_NOT_FOUND');
      else expect(await answer).toMatchObject({ deletedCount, ...written() });
      return;
    }
  }
}

test(
  `${OPERATIONS} random operations agree with the model`,
  async () => {
    const subject = new Subject();
    await subject.start();
    await subject.call('POST', '/collections', { name: OTHER, dimensions: DIMENSIONS });
    let runs = 0;
    const property = fc.asyncProperty(
      fc.array(operation, { minLength: RUN_OPERATIONS, maxLength: RUN_OPERATIONS, size: 'max' }),
      async (operations) => {
        const name = `model-${runs++}`;
        const model = new CollectionModel();
        await subject.call('POST', '/collections', { name, dimensions: DIMENSIONS, shards: [1, 4, 16][runs % 3] });
        const run: Run = { subject, name, model, listings: new Map(), aliased: null };
        for (const op of operations) await invariant('the service agrees with the model', () => step(run, op));
        await subject.end('SIGKILL');
        await subject.start();
        const { collection } = await subject.call<{ collection: unknown }>('GET', `/collections/${name}`);
        await invariant('what was acknowledged outlives SIGKILL', () =>
          expect(collection).toMatchObject({ vector_count: model.size, merkleRoot: model.root() }),
        );
      },
    );
    try {
      await fc.assert(property, { seed, numRuns: Math.ceil(OPERATIONS / RUN_OPERATIONS), endOnFailure: true });
    } finally {
      await subject.end('SIGKILL');
      subject.remove();
    }
  },
  20 * 60_000,
);
