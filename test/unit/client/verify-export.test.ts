import { expect, test } from '@jest/globals';
import { rootOfRecords, VerificationError, verifyExport } from '../../../client/index.ts';

const RECORDS = [
  { id: 'a', values: [1, 0.1], metadata: { text: 'ü' } },
  { id: 'a', values: [1, 0.1], metadata: { text: 'ü' }, namespace: 'tenant' },
  { id: '__proto__', values: [0, -0] },
];
const HEAD = {
  collectionId: '6f1c1c0e-5a3e-4a34-9d2b-0d7d7b8a1f10',
  name: 'c',
  dimensions: 2,
  metric: 'cosine',
  version: 7,
  merkleRoot: rootOfRecords(RECORDS),
  vectorCount: RECORDS.length,
};
const END = { count: RECORDS.length, merkleRoot: HEAD.merkleRoot };

const { name: _name, dimensions: _dimensions, metric: _metric, ...VERIFIED } = HEAD;
const linesOf = (head: object = HEAD, records: readonly object[] = RECORDS, end: object = END) =>
  [{ export: head }, ...records, { end }].map((line) => JSON.stringify(line));

test('an export with the right root says what it is of, however its lines arrive', async () => {
  expect(await verifyExport(linesOf())).toEqual(VERIFIED);
  expect(await verifyExport([...linesOf(), ''])).toEqual(VERIFIED);
  async function* later() {
    for (const line of linesOf(HEAD, RECORDS.toReversed())) yield line;
  }
  expect(await verifyExport(later())).toEqual(VERIFIED);
  const empty = { ...HEAD, vectorCount: 0, merkleRoot: '0'.repeat(64) };
  const nothing = { count: 0, merkleRoot: empty.merkleRoot };
  expect(await verifyExport(linesOf(empty, [], nothing))).toMatchObject({ vectorCount: 0 });
});

test('escaped keys are read as written', async () => {
  const records = [
    { id: 'a', values: [1, 1], metadata: { '!': 1, '\\': 0 } },
    { id: 'b', values: [1, 1], metadata: { '!': 1, '"': 2 } },
  ];
  const merkleRoot = rootOfRecords(records);
  const lines = linesOf({ ...HEAD, vectorCount: 2, merkleRoot }, records, { count: 2, merkleRoot });
  expect(await verifyExport(lines)).toMatchObject({ merkleRoot });
});

const [first, second, third] = RECORDS as [object, object, object];
test.each<[string, string, string[]]>([
  ['no line', 'malformed', []],
  ['no end', 'malformed', linesOf().slice(0, -1)],
  ['no head', 'malformed', linesOf().slice(1)],
  ['a line after the end', 'malformed', [...linesOf(), JSON.stringify(first)]],
  ['a line that is cut', 'malformed', [linesOf()[0]!, '{"id":"a","val']],
  ['a line that is not an object', 'malformed', [linesOf()[0]!, 'null', ...linesOf().slice(1)]],
  ['a record twice', 'malformed', linesOf(HEAD, [first, second, second])],
  ['a record without values', 'malformed', linesOf(HEAD, [first, second, { id: 'b' }])],
  [
    'values that carry more',
    'malformed',
    linesOf(HEAD, [first, second, { ...third, values: { length: 2, 0: 0, 1: 1e-40, more: 1 } }]),
  ],
  ['no values', 'malformed', linesOf(HEAD, [first, second, { ...third, values: [] }])],
  ['metadata that is null', 'malformed', linesOf(HEAD, [first, second, { ...third, metadata: null }])],
  ['metadata that is a list', 'malformed', linesOf(HEAD, [first, second, { ...third, metadata: [] }])],
  ['an empty id', 'malformed', linesOf(HEAD, [first, second, { ...third, id: '' }])],
  ['a record fewer', 'wrong-content', linesOf(HEAD, [first, second])],
  ['a record more', 'wrong-content', linesOf(HEAD, [...RECORDS, { id: 'b', values: [1, 1] }])],
  ['another number at the end', 'wrong-content', linesOf(HEAD, RECORDS, { ...END, count: 4 })],
  ['another value', 'wrong-root', linesOf(HEAD, [first, second, { ...third, values: [0, 1e-40] }])],
  ['other metadata', 'wrong-root', linesOf(HEAD, [first, second, { ...third, metadata: { a: 1 } }])],
  ['another namespace', 'wrong-root', linesOf(HEAD, [first, { ...second, namespace: 'tenants' }, third])],
  ['another root at the end', 'wrong-root', linesOf(HEAD, RECORDS, { ...END, merkleRoot: '0'.repeat(64) })],
  ['another root at the head', 'wrong-root', linesOf({ ...HEAD, merkleRoot: '0'.repeat(64) })],
  ['no root', 'malformed', linesOf({ ...HEAD, merkleRoot: undefined })],
  ['no version', 'malformed', linesOf({ ...HEAD, version: 'x' })],
  ['a version below 0', 'malformed', linesOf({ ...HEAD, version: -5 })],
  ['no collection', 'malformed', linesOf({ ...HEAD, collectionId: 'c' })],
])('an export with %s is refused as %s', async (_, reason, lines) => {
  const error = await verifyExport(lines).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(VerificationError);
  expect(error).toMatchObject({ reason });
});

const EVIL = { id: 'evil', values: [9, 9] };
const whole = (lines: readonly object[]) => lines.map((line) => JSON.stringify(line));
test.each<[string, number, object[]]>([
  ['in the last line', 5, [{ export: HEAD }, ...RECORDS, { ...EVIL, end: END }]],
  ['in the first line', 1, [{ ...EVIL, export: HEAD }, ...RECORDS, { end: END }]],
  ['in the end', 5, [{ export: HEAD }, ...RECORDS, { end: { ...END, ...EVIL } }]],
  ['in the head', 1, [{ export: { ...HEAD, ...EVIL } }, ...RECORDS, { end: END }]],
  ['in a record', 3, [{ export: HEAD }, first, { ...second, record: EVIL }, third, { end: END }]],
  ['as a second head', 3, [{ export: HEAD }, first, { ...second, export: HEAD }, third, { end: END }]],
])('refuses fields that the root does not cover %s, and names the line', async (_, line, lines) => {
  const error = await verifyExport(whole(lines)).catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({
    reason: 'malformed',
    message: expect.stringMatching(`^Line ${line} has an unknown field`),
  });
});

test.each<[string, number, string, string]>([
  ['a value of a record', 2, '"values":', '"values":[9,9],"values":'],
  ['an id, written with an escape', 3, '"id":', '"\\u0069d" : "evil","id":'],
  ['metadata', 2, '"text":', '"text":{"a":1},"text":'],
  ['what the head says', 1, '"dimensions":', '"dimensions":9,"dimensions":'],
  ['the head itself', 1, '{"export":', '{"export":{},"export":'],
  ['what the end says', 5, '"count":', '"count":9,"count":'],
])('refuses and names a line that has %s twice, since parsers may keep either', async (_, line, text, twice) => {
  const lines = linesOf();
  lines[line - 1] = lines[line - 1]!.replace(text, twice);
  expect(lines).not.toEqual(linesOf());
  const error = await verifyExport(lines).catch((thrown: unknown) => thrown);
  const message = `Line ${line} has a key twice in one object.`;
  expect(error).toMatchObject({ reason: 'malformed', message });
});

test('a key may appear in several objects, in text, and in a line of many levels', async () => {
  const records = [
    { id: 'a', values: [1], metadata: { a: '"a":1,"a":2 \\', b: [{ a: 1 }, { a: 2, c: { a: {} } }], c: '"' } },
  ];
  const merkleRoot = rootOfRecords(records);
  const lines = linesOf({ ...HEAD, vectorCount: 1, merkleRoot }, records, { count: 1, merkleRoot });
  expect(await verifyExport(lines)).toMatchObject({ merkleRoot });
  const levels = 200_000;
  lines[1] = `{"id":"a","values":[1],"metadata":${'{"a":['.repeat(levels)}${']}'.repeat(levels)}}`;
  expect(await verifyExport(lines).catch((thrown: unknown) => thrown)).toBeInstanceOf(VerificationError);
});
