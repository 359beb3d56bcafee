import { beforeAll, describe, expect, test } from '@jest/globals';
import { rootOfRecords } from '../../client/index.ts';
import { isThorough } from '../support/effort.ts';
import { type SharedService, shareService } from '../support/shared-service.ts';

interface Line {
  export?: { collectionId: string; name: string; version: number; merkleRoot: string; vectorCount: number };
  end?: { count: number; merkleRoot: string };
  id: string;
  values: number[];
  metadata?: object;
  namespace?: string;
}

const STRANGE_IDS = ['__proto__', 'é', '\u{1f600}', 'a\0b', '"', '\\', '\n', ' ', 'x'.repeat(512)];

let service: SharedService;
beforeAll(async () => {
  service = await shareService();
});

/** Returns the lines of an export as they arrive; `onChunk` runs between chunks. */
async function exportOf(name: string, onChunk = async (): Promise<void> => undefined): Promise<Line[]> {
  const response = await fetch(`${service.url}/api/v1/collections/${name}/export`, {
    headers: { authorization: `Bearer ${service.key}` },
  });
  expect(response.status).toBe(200);
  expect(response.headers.get('content-type')).toBe('application/x-ndjson');
  let text = '';
  const decoder = new TextDecoder();
  for await (const chunk of response.body!) {
    text += decoder.decode(chunk as Uint8Array, { stream: true });
    await onChunk();
  }
  expect(text.endsWith('\n')).toBe(true);
  return text
    .slice(0, -1)
    .split('\n')
    .map((line) => JSON.parse(line) as Line);
}

/** Checks an export's root, computed from its records only. Returns what is wrong, or null. */
function faultOf(lines: Line[]): string | null {
  const [{ export: head }, records, { end }] = [lines[0]!, lines.slice(1, -1), lines.at(-1)!];
  if (head === undefined || end === undefined) return 'no head or no end';
  if (end.count !== records.length || head.vectorCount !== records.length) return `${records.length} records`;
  const root = rootOfRecords(records);
  return root === head.merkleRoot && root === end.merkleRoot ? null : `the root ${root}`;
}

describe.each(isThorough ? [1, 4, 16] : [4])('over %i shards', (shards) => {
  const name = `exported-${shards}`;
  const post = (operation: string, body: object) => service.api('POST', `/collections/${name}/${operation}`, body);

  beforeAll(async () => {
    await service.api('POST', '/collections', { name, dimensions: 64, shards });
  });

  test('of an empty collection has a first and a last line', async () => {
    const lines = await exportOf(name);
    expect(lines).toMatchObject([
      { export: { name, version: 0, vectorCount: 0, dimensions: 64, metric: 'cosine', merkleRoot: '0'.repeat(64) } },
      { end: { count: 0, merkleRoot: '0'.repeat(64) } },
    ]);
  });

  test("has every record of every namespace as it was written, under the collection's root", async () => {
    // Values survive as text, because each is printed as the shortest decimal of its float32.
    const values = Array.from({ length: 64 }, (_, at) => (at + 1) / 64);
    const records = STRANGE_IDS.map((id, at) => ({ id, values: values.with(0, at), metadata: { at, id } }));
    await post('upsert', { records });
    await post('upsert', { namespace: 'tenant/ü', records: records.slice(0, 4) });
    await post('upsert', { records: [{ id: 'plain', values }] });
    const lines = await exportOf(name);
    const { body } = await service.api('GET', `/collections/${name}`);
    const { collection } = body as { collection: { id: string; version: number; merkleRoot: string } };
    const { id: collectionId, version, merkleRoot } = collection;
    expect(lines[0]!.export).toMatchObject({ collectionId, version, merkleRoot, vectorCount: 14 });
    expect(faultOf(lines)).toBeNull();
    const byKey = new Map(lines.slice(1, -1).map((line) => [JSON.stringify([line.namespace ?? '', line.id]), line]));
    for (const record of records) expect(byKey.get(JSON.stringify(['', record.id]))).toEqual(record);
    for (const record of records.slice(0, 4))
      expect(byKey.get(JSON.stringify(['tenant/ü', record.id]))).toEqual({ ...record, namespace: 'tenant/ü' });
    expect(byKey.get(JSON.stringify(['', 'plain']))).toEqual({ id: 'plain', values });
  });

  test('shows one state, whatever is written while it is sent', async () => {
    // More than one part, and more than the sockets in between can buffer.
    const values = Array.from({ length: 64 }, (_, at) => 0.123456789 * (at + 1));
    const record = (at: number, round: number) => ({
      id: `r${at}`,
      values,
      metadata: { at, round, text: 'x'.repeat(2_000) },
    });
    const many = (from: number, count: number, round = 0) =>
      post('upsert', { records: Array.from({ length: count }, (_, at) => record(from + at, round)) });
    for (let from = 0; from < 6_000; from += 1_000) await many(from, 1_000);
    for (let round = 1; round <= (isThorough ? 3 : 1); round++) {
      let writes = 0;
      const lines = await exportOf(name, async () => {
        writes++;
        if (writes % 7 !== 0) return;
        await many((writes * 37) % 6_000, 50, round);
        await post('delete', { ids: Array.from({ length: 20 }, (_, at) => `r${(writes * 91 + at) % 6_000}`) });
      });
      expect(writes).toBeGreaterThan(50);
      expect(faultOf(lines)).toBeNull();
    }
    expect(await service.api('GET', `/collections/${name}/verify`)).toMatchObject({ status: 200 });
  });

  test('concurrent exports each show their own state', async () => {
    const exports = Array.from({ length: isThorough ? 4 : 2 }, async (_, at) => {
      await post('upsert', { records: [{ id: `late ${at}`, values: Array(64).fill(1 + at) }] });
      return exportOf(name);
    });
    for (const lines of await Promise.all(exports)) expect(faultOf(lines)).toBeNull();
  });
});

test('a collection deleted during its export leaves an export without a last line', async () => {
  await service.api('POST', '/collections', { name: 'dropped', dimensions: 64 });
  for (let from = 0; from < 6_000; from += 1_000) {
    const records = Array.from({ length: 1_000 }, (_, at) => ({
      id: `r${from + at}`,
      values: Array(64).fill(0.123456789),
      metadata: { text: 'x'.repeat(2_000) },
    }));
    await service.api('POST', '/collections/dropped/upsert', { records });
  }
  let isDropped = false;
  const cut = exportOf('dropped', async () => {
    if (!isDropped) expect(await service.api('DELETE', '/collections/dropped')).toMatchObject({ status: 200 });
    isDropped = true;
  });
  await expect(cut).rejects.toThrow('terminated');
});

test('refuses invalid parameters and an unknown collection', async () => {
  expect(await service.api('GET', '/collections/nobody/export')).toMatchObject({ status: 404 });
  expect(await service.api('GET', '/collections/exported-1/export?limit=1')).toMatchObject({ status: 400 });
  expect(await service.api('POST', '/collections/exported-1/export', {})).toMatchObject({ status: 405 });
});
