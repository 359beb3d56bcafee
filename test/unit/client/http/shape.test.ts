import { describe, expect, test } from '@jest/globals';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { assertAnswer } from '../../../../client/http/shape.ts';
import type { OperationId } from '../../../../client/http/transport.ts';
import { Provec, ProvecOperator, ServerError } from '../../../../client/index.ts';
import { LIMITS } from '../../../../lib/limits.ts';
import { DEFAULT_PLANS } from '../../../../lib/plans.ts';
import { openApiDocument } from '../../../../services/gateway/openapi/document.ts';
import { STORY } from '../../../../services/gateway/openapi/examples/story.ts';
import { ApiDocument, type Json } from '../../../support/api-document.ts';

const BASE = '/api/v1';
const DOCUMENT = new ApiDocument(openApiDocument({ limits: LIMITS, adminToken: 'any' }));
const OPERATIONS = new Map(
  DOCUMENT.operations
    .filter(({ path }) => path.startsWith(BASE))
    .map(({ operation }) => [operation.operationId as OperationId, operation]),
);
const isJsonObject = (value: unknown): value is object => typeof value === 'object' && value !== null;

/** Complete success responses from the document's examples. */
const ANSWERS = STORY.flatMap(({ operation, status = 200, isExcerpt, answer }) => {
  const isWhole = OPERATIONS.has(operation as OperationId) && status < 300 && !isExcerpt;
  if (!isWhole || !isJsonObject(answer)) return [];
  const lines: readonly object[] = Array.isArray(answer) ? answer : [answer];
  return lines.map((line): [OperationId, object] => [operation as OperationId, line]);
});

/** Values and bounds may change with the service. */
const LOOSE = ['enum', 'const', 'format', 'pattern', 'propertyNames', 'uniqueItems'];
const isLoose = (name: string) => LOOSE.includes(name) || /^(min|max|exclusive)/.test(name);

/** A validator for a response's types and required members, without values and bounds. */
function validatorOf(operation: OperationId): ValidateFunction {
  const [, { content }] = Object.entries(OPERATIONS.get(operation)!.responses).find(([status]) => status < '300')!;
  const [{ schema }] = Object.values(content!) as [{ schema: Json }];
  const text = JSON.stringify({ ...schema, $defs: DOCUMENT.json.components.schemas }, (_, part: unknown) => {
    const isSchema = isJsonObject(part) && !Array.isArray(part) && ('type' in part || '$ref' in part);
    return isSchema ? Object.fromEntries(Object.entries(part).filter(([name]) => !isLoose(name))) : part;
  });
  const self = text.replaceAll('"$ref":"#/components/schemas/', '"$ref":"#/$defs/').replaceAll('"oneOf":', '"anyOf":');
  return new Ajv2020({ strict: false }).compile(JSON.parse(self) as Json);
}

/** Yields every variant of a value with one part removed or replaced, at any depth. */
function* variants(value: unknown): Generator<unknown> {
  yield* [null, true, 'text', 1, 0.5, [], {}, [{}]];
  if (!isJsonObject(value)) return;
  if (Array.isArray(value)) {
    for (const [at, item] of value.entries()) for (const each of variants(item)) yield value.with(at, each);
    return;
  }
  yield { ...value, added: 1 };
  for (const [name, member] of Object.entries(value)) {
    const { [name]: _, ...others } = value as Json;
    yield others;
    for (const each of variants(member)) yield { ...value, [name]: each };
  }
}

test('finds the answers', () => {
  expect(new Set(ANSWERS.map(([operation]) => operation)).size).toBeGreaterThan(OPERATIONS.size - 5);
});

test.each(ANSWERS)('accepts an answer to %s, and refuses what the document refuses', (operation, answer) => {
  const validate = validatorOf(operation);
  assertAnswer(operation, answer, 200);
  let refused = 0;
  for (const variant of variants(answer)) {
    const isRefused = thrownBy(() => assertAnswer(operation, variant, 200)) !== null;
    if (isRefused) refused++;
    if (isRefused === validate(variant))
      throw new Error(`${isRefused ? 'refused' : 'taken'}: ${JSON.stringify(variant)}`);
  }
  expect(refused).toBeGreaterThan(5);
});

function thrownBy(call: () => void): unknown {
  try {
    call();
    return null;
  } catch (error) {
    expect(error).toBeInstanceOf(ServerError);
    return error;
  }
}

describe('a service that is not Provec and answers {}', () => {
  const headers = { 'content-type': 'application/x-ndjson' };
  const fetch = async () => new Response('{}', { headers });
  const provec = new Provec({ url: 'http://x', apiKey: 'k', fetch });
  const operator = new ProvecOperator({ url: 'http://x', adminToken: 'k', fetch });
  const notes = provec.collection('notes');
  const CALLS: { [K in OperationId]: () => Promise<unknown> } = {
    queryVectors: () => notes.query({ id: 'a' }),
    queryMany: () => notes.queryMany({ queries: [{ id: 'a' }] }),
    upsertVectors: () => notes.upsert({ records: [{ id: 'a', values: [1] }] }),
    importRecords: () => notes.import(''),
    fetchVectors: () => notes.fetch({ ids: ['a'] }),
    countRecords: () => notes.count(),
    facetRecords: () => notes.facets({ field: 'a' }),
    listRecords: () => notes.list().all(),
    updateRecords: () => notes.update({ updates: [{ id: 'a', values: [1] }] }),
    deleteVectors: () => notes.delete({ ids: ['a'] }),
    listNamespaces: () => notes.listNamespaces().all(),
    deleteNamespace: () => notes.deleteNamespace('a'),
    getCollection: () => notes.describe(),
    updateCollection: () => notes.configure({ tags: {} }),
    deleteCollection: () => provec.deleteCollection('notes'),
    listCollections: () => provec.listCollections().page(),
    createCollection: () => provec.createCollection({ name: 'notes', dimensions: 1 }),
    verifyCollection: () => notes.verify(),
    proveRecord: () => notes.proof({ id: 'a' }),
    beginVerification: () => notes.startVerification(),
    getVerification: () => notes.getVerification('v'),
    exportRecords: async () => {
      for await (const _ of await notes.export());
    },
    listAnchors: () => notes.listAnchors().all(),
    getMemory: () => notes.memory(),
    createAuditLink: () => notes.createAuditLink(),
    listAuditLinks: () => notes.listAuditLinks(),
    revokeAuditLink: () => notes.revokeAuditLink('l'),
    getAudit: () => provec.getAudit('t'),
    getAlias: () => provec.getAlias('a'),
    putAlias: () => provec.putAlias('a', 'notes'),
    deleteAlias: () => provec.deleteAlias('a'),
    listAliases: () => provec.listAliases().all(),
    getUsage: () => provec.getUsage(),
    listKeys: () => provec.listKeys().all(),
    listAuditEntries: () => provec.listAuditEntries().all(),
    getDailyUsage: () => provec.getDailyUsage(),
    createKey: () => provec.createKey({ name: 'k' }),
    revokeKey: () => provec.revokeKey('k'),
    createAccount: () => operator.createAccount({ name: 'a', plan: 'free' }),
    listAccounts: () => operator.listAccounts().all(),
    listPlans: () => operator.listPlans(),
    putPlan: () => operator.putPlan('a', DEFAULT_PLANS.pro),
    deletePlan: () => operator.deletePlan('a'),
    changePlan: () => operator.changePlan('a', { plan: 'free' }),
    deleteAccount: () => operator.deleteAccount('a'),
    getAccount: () => operator.getAccount('a'),
    listAllAuditEntries: () => operator.listAuditEntries().all(),
    listAccountKeys: () => operator.listKeys('a').all(),
    createAccountKey: () => operator.createKey('a', { name: 'k' }),
    revokeAccountKey: () => operator.revokeKey('a', 'k'),
    listNodes: () => operator.listNodes(),
    drainNode: () => operator.drainNode('n'),
    listShards: () => operator.listShards().all(),
    moveShard: () => operator.moveShard('c.0', { node: 'n' }),
    listAllCollections: () => operator.listCollections().all(),
    listAllAnchors: () => operator.listAnchors().all(),
    listAllVerifications: () => operator.listVerifications().all(),
    resumeAnchoring: () => operator.resumeAnchoring('c'),
    startBackup: () => operator.startBackup(),
    listBackups: () => operator.listBackups().all(),
    getLedger: () => operator.getLedger(),
  };
  test.each(Object.entries(CALLS))('%s rejects', async (operation, call) => {
    const error = await call().catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(ServerError);
    expect((error as Error).message).toMatch(
      new RegExp(`not an answer to ${operation}: \\w+ is missing.*address of a Provec`),
    );
  });
});

test('refuses an export of something else', async () => {
  for (const text of ['<html>', '{"id":"a"}\n', '{"id":"a","values":["1"]}\n', '[]\n']) {
    const provec = new Provec({ url: 'http://x', apiKey: 'k', fetch: async () => new Response(text) });
    const read = async () => {
      for await (const _ of await provec.collection('notes').export());
    };
    await expect(read()).rejects.toMatchObject({ name: expect.stringMatching(/^(ServerError|APIConnectionError)$/) });
  }
});

test.each([1, 2, 3, 7])('ends pages that form a cycle of %d', async (length) => {
  let page = 0;
  const fetch = async () => {
    page++;
    return new Response(
      JSON.stringify({ records: [{ id: 'a' }], nextCursor: `c${page < 5 ? page : 5 + (page % length)}` }),
    );
  };
  const notes = new Provec({ url: 'http://x', apiKey: 'k', fetch }).collection('notes');
  await expect(notes.list().all()).rejects.toThrow(/form a cycle/);
  expect(page).toBeLessThan(5 + 4 * length + 8);
});

test.each(['all', 'pages'] as const)('empty pages that always come with a new cursor end (%s)', async (how) => {
  let page = 0;
  const fetch = async () => {
    // One page in every 900 has a record, up to a point.
    const records = page < 2_000 && page % 900 === 0 ? [{ id: 'a' }] : [];
    return new Response(JSON.stringify({ records, ...(page < 5_000 && { nextCursor: `c${page++}` }) }));
  };
  const list = new Provec({ url: 'http://x', apiKey: 'k', fetch }).collection('notes').list();
  const read = async () => {
    if (how === 'all') return list.all();
    for await (const _ of list.pages());
  };
  await expect(read()).rejects.toMatchObject({
    name: 'ServerError',
    message: expect.stringContaining('1000 pages in a row'),
  });
  expect(page).toBe(1_800 + 1 + 1_000);
});
