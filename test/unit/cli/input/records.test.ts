import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { readRecords } from '../../../../cli/input/records.ts';

const RECORD = '{"id": "a", "values": [1, 2], "metadata": {"n": 9007199254740993, "m": {"x": 1e3}}}';
/** The same as the service gets it. */
const SENT = '{"id":"a","values":[1,2],"metadata":{"n":9007199254740993,"m":{"x":1000}}}';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'provec-records-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function recordsIn(content: string | Uint8Array): Promise<string[]> {
  const path = join(folder, 'records');
  await writeFile(path, content);
  return (await readRecords(path)).map((record) => JSON.stringify(record));
}

test.each([
  ['one record', RECORD, 1],
  ['a record over several lines', RECORD.replaceAll(',', ',\n'), 1],
  ['a list', `[${RECORD},\n${RECORD}]`, 2],
  ['the body of an upsert', `{\n "records": [\n${RECORD}]}`, 1],
  ['lines with a byte order mark', `\ufeff${RECORD}\r\n\r\n${RECORD}\n`, 2],
])('%s, with the digits of its integers', async (_, content, count) => {
  expect(await recordsIn(content)).toEqual(Array.from({ length: count }, () => SENT));
});

test.each([
  ['a line that is not JSON', `${RECORD}\n\n{"id": "b"\n`, /records:3 is not JSON: /],
  ['a line that is no record', `${RECORD}\n[1]`, /records:2 must be a record/],
  ['a document that is not JSON', '[{"id": "a",\n', /records is not JSON: /],
  ['a document without records', '5', /records must hold records/],
  ['blank lines', ' \n\n', /records holds no records\./],
  ['another encoding', Buffer.from('{"id": "\xff", "values": [1, 2]}', 'latin1'), /records is not UTF-8\./],
])('refuses %s', async (_, content, message) => {
  await expect(recordsIn(content)).rejects.toThrow(message);
});
