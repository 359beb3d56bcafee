import { expect } from '@jest/globals';
import type { CollectionDetail, RecordProof } from '../../contracts/actions/collections.ts';
import type { SharedService } from '../support/shared-service.ts';
import type { AwkwardJson } from './awkward-json.ts';

const DIMENSIONS = 6;
const BATCH_RECORDS = 500;
const DELETED_SHARE = 10;
const IDS = [
  ...[
    '__proto__',
    'constructor',
    '/',
    '.',
    '..',
    '?',
    'a b',
    'a+b%20c',
    '%',
    '%2F',
    '#',
    '&id=x',
    '"',
    '\\',
    'a\u0000',
    '\n',
    '\r\n',
    '\t',
  ],
  ...[
    'é',
    'e\u0301',
    '日本',
    '\u2028',
    '\ufeff',
    '\u200b',
    '\u202e',
    '😀',
    '\u{10ffff}',
    '\uffff',
    'null',
    '0',
    '-0',
    '1e21',
    ' ',
    ' a',
    'a ',
  ],
  ...['x'.repeat(512), 'ü'.repeat(256), '😀'.repeat(128)],
];

/** An awkward record: its id, and the JSON that was sent for it. */
export interface WrittenRecord {
  id: string;
  json: string;
}

/** A collection of a running service with awkward records, some of which were deleted again. */
export class WrittenCollection {
  readonly present: readonly WrittenRecord[];
  /** Ids that were never written, or were deleted. */
  readonly absent: readonly string[];
  readonly id: string;
  readonly #service: SharedService;
  readonly #path: string;

  private constructor(service: SharedService, path: string, id: string, present: WrittenRecord[], absent: string[]) {
    this.#service = service;
    this.#path = path;
    this.id = id;
    this.present = present;
    this.absent = absent;
  }

  static async write(
    service: SharedService,
    awkward: AwkwardJson,
    name: string,
    count: number,
    shards: number,
  ): Promise<WrittenCollection> {
    const path = `/collections/${name}`;
    const body = { name, dimensions: DIMENSIONS, metric: 'dot', shards };
    const made = await service.api<{ collection: CollectionDetail }>('POST', '/collections', body);
    expect(made.status).toBe(201);
    const records = awkwardRecords(awkward, count);
    for (let from = 0; from < records.length; from += BATCH_RECORDS) {
      const batch = records.slice(from, from + BATCH_RECORDS).map(({ json }) => json);
      await upsert(service, path, `{"records": [${batch.join(',\n')}]}`);
    }
    const isDeleted = (_: WrittenRecord, at: number) => at % DELETED_SHARE === 1;
    const deleted = records.filter(isDeleted).map(({ id }) => id);
    if (deleted.length > 0) {
      const { body: answer } = await service.api('POST', `${path}/delete`, { ids: deleted });
      expect(answer).toMatchObject({ deletedCount: deleted.length, anchor: { status: 'confirmed' } });
    }
    const ids = new Set(records.map((record) => record.id));
    const strangers = Array.from({ length: count }, (_, at) => `s${awkward.text(20)}${at}`).filter(
      (id) => !ids.has(id),
    );
    const present = records.filter((record, at) => !isDeleted(record, at));
    return new WrittenCollection(service, path, made.body.collection.id, present, [...deleted, ...strangers]);
  }

  /** The response as received, and the parsed proof. */
  async proof(id: string): Promise<{ json: string; proof: RecordProof }> {
    const json = await asked(this.#service, `${this.#path}/proof?id=${encodeURIComponent(id)}`);
    return { json, proof: (JSON.parse(json) as { proof: RecordProof }).proof };
  }

  /** The response to a fetch of the record, as received. */
  fetched(id: string): Promise<string> {
    return asked(this.#service, `${this.#path}/fetch`, JSON.stringify({ ids: [id] }));
  }

  /** Changes a record, so that earlier proofs belong to an older version. */
  async change({ id }: WrittenRecord): Promise<void> {
    await upsert(this.#service, this.#path, JSON.stringify({ records: [{ id, values: [1, 2, 3, 4, 5, 6] }] }));
  }
}

function awkwardRecords(awkward: AwkwardJson, count: number): WrittenRecord[] {
  const ids = new Set(IDS.slice(0, count));
  while (ids.size < count) {
    const id = awkward.text(30);
    if (id !== '' && !id.startsWith('\0')) ids.add(id);
  }
  return Array.from(ids, (id) => {
    const values = Array.from({ length: DIMENSIONS }, () => awkward.value()).join(', ');
    const metadata = awkward.below(8) === 0 ? '' : `, "metadata": ${awkward.object()}`;
    return { id, json: `{"values": [${values}], "id": ${awkward.written(id)}${metadata}}` };
  });
}

async function upsert(service: SharedService, path: string, body: string): Promise<void> {
  const answer = JSON.parse(await asked(service, `${path}/upsert`, body)) as unknown;
  expect(answer).toMatchObject({ anchor: { status: 'confirmed' } });
}

async function asked({ url, key }: SharedService, path: string, body?: string): Promise<string> {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  const response = await fetch(
    `${url}/api/v1${path}`,
    body === undefined ? { headers } : { method: 'POST', headers, body },
  );
  const text = await response.text();
  expect([response.status, text]).toEqual([200, text]);
  return text;
}
