import { expect, test } from '@jest/globals';
import { BadRequestError, Provec } from '../../../client/index.ts';

interface Sent {
  records: { id: string; values: number[] }[];
  namespace?: string;
  waitForAnchor?: boolean;
}
type Answer = (sent: Sent, request: number) => [status: number, body: object];

const RESULT = {
  merkleRoot: '0'.repeat(64),
  ledgerProgram: 'p',
  ledgerTx: null,
  ledgerExplorerUrl: null,
  anchor: { status: 'none' },
};
const written: Answer = ({ records }, request) => [
  200,
  { ...RESULT, upsertedCount: records.length, version: request, vectorCount: request },
];

function collection(answer: Answer) {
  const sent: Sent[] = [];
  const fetch: typeof globalThis.fetch = async (_, init) => {
    sent.push(JSON.parse(String(init!.body)) as Sent);
    const [status, body] = answer(sent.at(-1)!, sent.length);
    return new Response(JSON.stringify(body), { status });
  };
  return { sent, notes: new Provec({ url: 'http://x', apiKey: 'k', fetch }).collection('notes') };
}

const recordsOf = (count: number) => Array.from({ length: count }, (_, at) => ({ id: `r${at}`, values: [at] }));

test.each([
  [1, [1]],
  [1_000, [1_000]],
  [1_001, [1_000, 1]],
  [2_500, [1_000, 1_000, 500]],
])('sends %d records in order, in requests of at most 1,000', async (count, sizes) => {
  const { sent, notes } = collection(written);
  const records = recordsOf(count);
  const result = await notes.upsert({ records, namespace: 'n' });
  expect(result).toEqual({ ...RESULT, upsertedCount: count, version: sizes.length, vectorCount: sizes.length });
  expect(sent.map((each) => each.records.length)).toEqual(sizes);
  expect(sent.flatMap((each) => each.records)).toEqual(records);
  expect(new Set(sent.map(({ namespace }) => namespace))).toEqual(new Set(['n']));
  const waits = sent.map(({ waitForAnchor = true }) => waitForAnchor);
  expect(waits).toEqual([
    ...sizes
      .slice(1)
      .fill(0)
      .map(() => false),
    true,
  ]);
});

test.each([
  ['vectors', 500, { values: Array<number>(8_192).fill(0) }, [245, 245, 10]],
  ['metadata', 3, { values: [1], metadata: { text: 'é'.repeat(13_000_000) } }, [1, 1, 1]],
])('sends records with large %s in several requests, below the body limit', async (_, count, rest, sizes) => {
  const { sent, notes } = collection(written);
  const records = Array.from({ length: count }, (_, at) => ({ id: `r${at}`, ...rest }));
  expect(await notes.upsert({ records })).toMatchObject({ upsertedCount: count });
  expect(sent.map((each) => each.records.length)).toEqual(sizes);
  expect(sent.flatMap((each) => each.records.map(({ id }) => id))).toEqual(records.map(({ id }) => id));
});

test('an abort between two requests rejects with its reason, and sends nothing more', async () => {
  const abort = new AbortController();
  const reason = new Error('enough');
  const { sent, notes } = collection((body, request) => {
    if (request === 2) abort.abort(reason);
    return written(body, request);
  });
  await expect(notes.upsert({ records: recordsOf(5_000) }, { signal: abort.signal })).rejects.toBe(reason);
  expect(sent).toHaveLength(2);
});

test('returns the warnings of all requests once each, with places in the whole list', async () => {
  const { notes } = collection((body, request) => {
    const [status, result] = written(body, request);
    const own = request === 2 ? [] : [`records[7].metadata.n in request ${request}`];
    return [status, { ...result, warnings: ['the same', ...own] }];
  });
  const warnings = ['the same', 'records[7].metadata.n in request 1', 'records[2007].metadata.n in request 3'];
  const told = new Set<string>();
  const onWarning = (warning: string) => told.add(warning);
  expect(await notes.upsert({ records: recordsOf(2_500) }, { onWarning })).toMatchObject({
    upsertedCount: 2_500,
    warnings,
  });
  expect([...told]).toEqual(warnings);
});

test('on failure, the error counts the stored records, and its places are in the whole list', async () => {
  const refusal = {
    error: 'records[3].values must have 1 number, not 2.',
    code: 'DIMENSION_MISMATCH',
    status: 400,
    requestId: 'r',
    details: [{ path: 'records[3].values', expected: '1 number', got: '2' }],
  };
  const { sent, notes } = collection((body, request) => (request === 3 ? [400, refusal] : written(body, request)));
  const error = await notes.upsert({ records: recordsOf(5_000) }).catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(BadRequestError);
  expect(error).toMatchObject({
    message: 'records[2003].values must have 1 number, not 2. The first 2000 of 5000 records were stored before.',
    storedCount: 2_000,
    details: [{ path: 'records[2003].values', expected: '1 number', got: '2' }],
  });
  expect(sent).toHaveLength(3);
});

test('refuses a value that JSON cannot represent before it sends any request', async () => {
  const { sent, notes } = collection(written);
  const records = recordsOf(2_500);
  records[2_400]!.values = [Number.NaN];
  await expect(notes.upsert({ records })).rejects.toThrow('records[2400].values[0] is NaN');
  expect(sent).toEqual([]);
});
