import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Example } from '../../services/gateway/openapi/examples/example.ts';
import { STORY } from '../../services/gateway/openapi/examples/story.ts';
import { ApiDocument } from '../support/api-document.ts';
import { rawRequest } from '../support/raw-request.ts';
import { RecordedResponses } from '../support/recorded-responses.ts';
import { startService, type TestService } from '../support/service.ts';
import { ADMIN_TOKEN, TEST_KEY } from '../support/tenant.ts';
import { until } from '../support/until.ts';

/** Operations whose responses reflect earlier requests only after a moment. */
const SETTLING = ['getUsage', 'getDailyUsage', 'listKeys', 'getVerification'];

/** The ledger's program, and a time from a request: the same in every run. */
const SAME = ['TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb', '2099-01-01T00:00:00.000Z'];

let service: TestService;
let document: ApiDocument;
beforeAll(async () => {
  service = await startService({ PROVEC_ADMIN_TOKEN: ADMIN_TOKEN });
  document = new ApiDocument(await (await fetch(`${service.url}/openapi.json`)).json());
});
afterAll(() => service.stop());

/** Sends an example's request and returns the differences from the example's response. */
async function differences(example: Example, likeness: RecordedResponses): Promise<string[]> {
  const { operation: id, isExcerpt, varies = [], answer: written } = example;
  const { method, path, operation } = document.operations.find((each) => each.operation.operationId === id)!;
  const given = likeness.inThisRun(example);
  const body = Array.isArray(given.body) ? ndjson(given.body) : given.body && JSON.stringify(given.body);
  const token = path.includes('/admin/') ? ADMIN_TOKEN : TEST_KEY;
  const headers = {
    ...(operation.security.length > 0 && { authorization: `Bearer ${token}` }),
    ...(operation.requestBody && { 'content-type': Object.keys(operation.requestBody.content!)[0]! }),
  };
  const { status, text } = await rawRequest(service.url, method, targetOf(path, given), headers, body);
  const isExpected = example.status === undefined ? status < 300 : status === example.status;
  if (operation.responses[status] === undefined || !isExpected) return [`${status}: ${text}`];
  if (typeof written === 'string') return text.includes(written) ? [] : [`${written} is not in ${text}`];
  const answer = Array.isArray(written)
    ? text
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line))
    : JSON.parse(text);
  const found = likeness.differences(written, answer);
  const same = found.filter((line) => !varies.some((name) => new RegExp(`/${name}(/\\d+)?: `).test(line)));
  return isExcerpt ? same.filter((line) => !line.endsWith('instead of undefined')) : same;
}

const ndjson = (lines: readonly object[]) => lines.map((line) => `${JSON.stringify(line)}\n`).join('');

function targetOf(pattern: string, { path = {}, query = {} }: Example): string {
  const target = pattern.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(path[name]!));
  const parameters = Object.entries(query).map(([name, value]) => `${name}=${encodeURIComponent(value)}`);
  return parameters.length === 0 ? target : `${target}?${parameters.join('&')}`;
}

test('a fresh service answers every example as printed', async () => {
  const likeness = new RecordedResponses(SAME);
  for (const example of STORY.filter(({ isElsewhere }) => !isElsewhere)) {
    const told = `${example.operation}: ${example.summary}`;
    if (SETTLING.includes(example.operation))
      await until(`${told} is so`, async () => (await differences(example, likeness)).length === 0);
    expect([told, await differences(example, likeness)]).toEqual([told, []]);
  }
});

test('both bodies of every operation have examples that match the document', () => {
  for (const { operation } of document.operations) {
    const [done, ...refused] = Object.values(operation.responses);
    for (const body of [operation.requestBody, done, ...refused]) {
      for (const { schema, examples = {} } of Object.values(body?.content ?? {})) {
        const validate = document.compile(schema);
        const faults = Object.values(examples).flatMap(({ value }) => (validate(value) ? [] : validate.errors!));
        const isThere = refused.some((each) => each === body) || Object.keys(examples).length > 0;
        expect([operation.operationId, isThere, faults]).toEqual([operation.operationId, true, []]);
      }
    }
  }
});

test('every example illustrates the operations that it names, under a unique name', () => {
  const ids = document.operations.map(({ operation }) => operation.operationId);
  const named = STORY.map(({ operation, summary }) => `${operation}: ${summary}`);
  expect(STORY.filter(({ operation }) => !ids.includes(operation))).toEqual([]);
  expect(new Set(named).size).toBe(named.length);
});
