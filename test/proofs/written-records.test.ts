/** Checks a running service and its ledger with examples/verify.py, using awkward records. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { RecordProof } from '../../client/index.ts';
import { FORGERIES } from '../support/forged-proofs.ts';
import { randomFrom } from '../support/random.ts';
import { seed } from '../support/seed.ts';
import { type SharedService, shareService } from '../support/shared-service.ts';
import { AwkwardJson } from './awkward-json.ts';
import { askPython, type Request, runVerifier } from './python.ts';
import { WrittenCollection, type WrittenRecord } from './written-collections.ts';

/**
 * Number of records and shards, by name. In the small collections, paths end at another record that
 * is alone in the shard, or at an empty subtree.
 */
const COLLECTIONS = { awkward: [3_000, 8], few: [4, 64], one: [1, 1], two: [2, 256], some: [40, 2] } as const;
const PROOFS = 1_000;
const OTHER = '11111111-2222-4333-8444-555555555555';

interface Proven {
  collection: WrittenCollection;
  id: string;
  record: WrittenRecord | undefined;
  json: string;
  proof: RecordProof;
  /** The ledger's state as the verifier reads it, pinned for the checks. */
  known: Record<string, unknown>;
}

const awkward = new AwkwardJson(randomFrom(seed), false);
let service: SharedService;
let collections: WrittenCollection[];
const proven: Proven[] = [];

beforeAll(async () => {
  service = await shareService('anchored');
  collections = [];
  for (const [name, [count, shards]] of Object.entries(COLLECTIONS)) {
    collections.push(await WrittenCollection.write(service, awkward, name, count, shards));
  }
  const { url: rpc, authority } = service.ledger!;
  const anchors = await askPython(collections.map(({ id }) => ({ of: 'ledger', rpc, authority, collection: id })));
  for (const [at, collection] of collections.entries()) {
    const [merkleRoot, version, count] = (anchors[at] as { is: [string, number, number] }).is;
    expect(count).toBe(collection.present.length);
    const ids =
      at === 0 ? drawn(collection) : new Set([...collection.present.map(({ id }) => id), ...collection.absent]);
    for (const id of ids) {
      const record = collection.present.find((each) => each.id === id);
      const known = { id, collectionId: collection.id, merkleRoot, version };
      proven.push({ collection, id, record, ...(await collection.proof(id)), known });
    }
  }
});

/**
 * Draws distinct ids of the large collection. Half of them are present, including every present id
 * that tends to break programs.
 */
function drawn({ present, absent }: WrittenCollection): Set<string> {
  const ids = new Set(present.slice(0, PROOFS / 2).map(({ id }) => id));
  while (ids.size < PROOFS) ids.add(awkward.oneOf(absent));
  return ids;
}

const inner = (json: string): string => JSON.stringify((JSON.parse(json) as { proof: unknown }).proof);

const requestOf = ({ json, known, record }: Proven): Request => ({
  of: 'proof',
  proof: inner(json),
  known,
  record: record?.json,
});

async function expectRefused(requests: readonly Request[]): Promise<void> {
  const answers = await askPython(requests);
  answers.forEach((answer, at) => {
    expect([requests[at], answer]).toEqual([requests[at], { refused: expect.any(String) }]);
  });
}

describe('of each proof', () => {
  test('presence with the record as it was sent, and absence', async () => {
    expect(proven.length).toBeGreaterThanOrEqual(PROOFS);
    const answers = await askPython(proven.map(requestOf));
    answers.forEach((answer, at) => {
      expect([proven[at]!.id, answer]).toEqual([proven[at]!.id, { is: proven[at]!.record ? 'present' : 'absent' }]);
    });
    const ends = new Set(
      proven.map(({ proof }) => `${proof.present} ${proof.terminal === null} ${proof.siblings.length > 0}`),
    );
    expect(ends.size).toBeGreaterThanOrEqual(5);
    const present = proven.filter(({ record }) => record !== undefined).length;
    console.log(`${present} of presence, ${proven.length - present} of absence`);
  });

  test('presence with the record as it is fetched', async () => {
    const there = proven.filter(({ record }, at) => record !== undefined && at % 2 === 0);
    const requests = await Promise.all(
      there.map(
        async ({ collection, id, json, known }): Promise<Request> => ({
          of: 'proof',
          proof: inner(json),
          known,
          fetched: await collection.fetched(id),
        }),
      ),
    );
    expect(await askPython(requests)).toEqual(requests.map(() => ({ is: 'present' })));
  });

  test('no forgery', async () => {
    const requests = proven.flatMap(({ proof, known }) =>
      Object.values(FORGERIES).flatMap((forge): Request[] => {
        const draw = {
          at: awkward.below(1_000),
          other: awkward.below(1_000),
          bit: awkward.below(256),
          hash: 'ab'.repeat(32),
        };
        const forged = JSON.stringify(forge(proof, draw));
        return forged === JSON.stringify(proof) ? [] : [{ of: 'proof', proof: forged, known }];
      }),
    );
    expect(requests.length).toBeGreaterThan(8 * PROOFS);
    await expectRefused(requests);
    console.log(`${requests.length} forged`);
  });

  test('no other id, collection, version, root or record', async () => {
    const large = proven.slice(0, PROOFS);
    await expectRefused(
      large.flatMap(({ json, known, record }, at): Request[] => {
        const other = large[(at + 1) % large.length]!;
        const proof = inner(json);
        const relabelled = JSON.stringify({ ...(JSON.parse(proof) as RecordProof), id: other.id });
        return [
          { of: 'proof', proof, known: { ...known, id: other.id } },
          {
            of: 'proof',
            proof: relabelled,
            known: { ...known, id: other.id },
            record: record?.json ?? other.record?.json ?? '{"id": "x", "values": [1]}',
          },
          { of: 'proof', proof, known: { ...known, collectionId: OTHER } },
          { of: 'proof', proof, known: { ...known, version: (known.version as number) + 1 } },
          { of: 'proof', proof, known: { ...known, merkleRoot: proven.at(-1)!.known.merkleRoot } },
          ...(record === undefined
            ? []
            : [{ of: 'proof', proof, known, record: other.record?.json ?? '{"id": "x", "values": [1]}' } as const]),
        ];
      }),
    );
  });
});

describe('on the command line', () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'provec-proofs-'));
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  async function kept(name: string, text: string): Promise<string> {
    const path = join(folder, name);
    await writeFile(path, text);
    return path;
  }
  const pins = (collection: WrittenCollection) => [
    '--collection',
    collection.id,
    '--authority',
    service.ledger!.authority,
  ];
  const ledger = (collection: WrittenCollection) => [...pins(collection), '--rpc', service.ledger!.url];
  const ofOne = (isThere: boolean) =>
    proven.find(({ id, record }) => id.length > 1 && !id.includes('\0') && (record !== undefined) === isThere)!;

  test('proven: exit code 0, and one line', async () => {
    for (const { id, record, json, collection, known } of proven.filter(
      ({ id }, at) => at % 50 === 0 && !id.includes('\0'),
    )) {
      const proof = await kept('proof.json', json);
      const expected = record ? ['--record', await kept('record.json', record.json)] : [`--absent=${id}`];
      const byLedger = await runVerifier(proof, ...expected, ...ledger(collection));
      const said = `${record ? 'PRESENT' : 'ABSENT'}  ${JSON.stringify(id).replaceAll(/[\u007f-\uffff]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`)}`;
      const of = `${said}${record ? ', with these values and metadata' : ''}; root ${known.merkleRoot}, `;
      expect({ id, ...byLedger }).toEqual({
        id,
        code: 0,
        stdout: `${of}version ${known.version} on the ledger\n`,
        stderr: '',
      });
      const byRoot = await runVerifier(proof, ...expected, '--root', `${known.merkleRoot}`);
      expect({ id, ...byRoot }).toEqual({ id, code: 0, stdout: `${of}as given\n`, stderr: '' });
    }
  });

  test('not proven: exit code 1, and one line that says why', async () => {
    const present = ofOne(true);
    const absent = ofOne(false);
    const record = JSON.parse(present.record!.json) as { id: string; values: number[] };
    const other = await kept('other.json', JSON.stringify({ ...record, metadata: { other: true } }));
    const same = await kept('same.json', present.record!.json);
    const proof = await kept('present.json', present.json);
    const without = await kept('absent.json', absent.json);
    const forged = await kept(
      'forged.json',
      JSON.stringify({ proof: { ...present.proof, siblings: present.proof.siblings.toReversed() } }),
    );
    const { collection } = present;
    const { authority } = service.ledger!;
    const cases: [RegExp, string[]][] = [
      [/other values or other metadata/, [proof, '--record', other, ...ledger(collection)]],
      [/the record is present/, [proof, `--absent=${present.id}`, ...ledger(collection)]],
      [
        /the record is absent/,
        [
          without,
          '--record',
          await kept('x.json', JSON.stringify({ ...record, id: absent.id })),
          ...ledger(collection),
        ],
      ],
      [/id is /, [without, '--record', same, ...ledger(collection)]],
      [/does not lead to the root|beside it|below one/, [forged, '--record', same, ...ledger(collection)]],
      [
        /there is no account/,
        [proof, '--record', same, '--collection', OTHER, '--authority', authority, '--rpc', service.ledger!.url],
      ],
      [
        /there is no account/,
        [
          proof,
          '--record',
          same,
          '--collection',
          collection.id,
          '--authority',
          present.proof.ledgerAddress!,
          '--rpc',
          service.ledger!.url,
        ],
      ],
      [/collectionId is /, [proof, '--record', same, ...ledger(collections[1]!)]],
      [/merkleRoot is /, [proof, '--record', same, '--root', 'ab'.repeat(32)]],
      [/format is malformed/, [await kept('null.json', 'null'), '--record', same, ...ledger(collection)]],
    ];
    for (const [why, args] of cases) {
      const { code, stdout, stderr } = await runVerifier(...args);
      expect({ why, code, stderr }).toEqual({ why, code: 1, stderr: '' });
      expect(stdout).toMatch(/^NOT PROVEN {2}[ -~]+\n$/);
      expect(stdout).toMatch(why);
    }
  });

  test('unreadable: exit code 2', async () => {
    const {
      json,
      record,
      collection,
      proof: { merkleRoot },
    } = ofOne(true);
    const proof = await kept('proof.json', json);
    const same = ['--record', await kept('record.json', record!.json)];
    const root = ['--root', merkleRoot];
    const cases: string[][] = [
      [],
      [proof],
      [proof, ...same],
      [proof, ...same, ...root, '--absent', 'x'],
      [proof, ...same, ...pins(collection)],
      [proof, ...same, ...root, ...ledger(collection)],
      [proof, ...same, ...pins(collection), '--rpc', 'http://127.0.0.1:1/key'],
      [proof, ...same, ...pins(collection), '--rpc', `${service.url}/api/v1/key`],
      [proof, ...same, ...pins(collection), '--rpc', 'key'],
      [proof, ...same, '--collection', 'x', '--authority', service.ledger!.authority, '--rpc', service.ledger!.url],
      [proof, ...same, '--collection', collection.id, '--authority', 'x', '--rpc', service.ledger!.url],
      [join(folder, 'never.json'), ...same, ...root],
      [await kept('text.json', 'no json'), ...same, ...root],
      [await kept('deep.json', '['.repeat(100_000)), ...same, ...root],
      [proof, '--record', await kept('misspelt.json', '{"id": "x", "vector": [1]}'), ...root],
      [proof, '--record', await kept('list.json', '[]'), ...root],
      [proof, '--record', await kept('none.json', 'null'), ...root],
      [proof, '--record', await kept('nan.json', '{"id": "x", "values": [NaN]}'), ...root],
      [proof, '--record', await kept('large.json', '{"id": "x", "values": [1e39]}'), ...root],
    ];
    for (const args of cases) {
      const { code, stdout, stderr } = await runVerifier(...args);
      expect({ args, code, stdout }).toEqual({ args, code: 2, stdout: '' });
      expect(stderr).toMatch(/^(usage: |verify\.py: [ -~]+\n$)/);
      expect(stderr).not.toMatch(/key|Traceback/);
    }
  });

  test('a proof from before the last write is proven by its transaction, and without one only by its root', async () => {
    const collection = collections.at(-1)!;
    const [changed, other] = collection.present as [WrittenRecord, WrittenRecord];
    const { json, proof } = await collection.proof(other.id);
    await collection.change(changed);
    const args = [await kept('older.json', json), '--record', await kept('other.json', other.json)];
    const byLedger = await runVerifier(...args, ...ledger(collection));
    expect(byLedger).toEqual({ code: 0, stdout: expect.stringMatching(/^PRESENT at version /), stderr: '' });
    const { ledgerTx: _, ...untold } = proof;
    const old = await kept('old.json', JSON.stringify(untold));
    const byAccount = await runVerifier(old, ...args.slice(1), ...ledger(collection));
    expect(byAccount).toEqual({
      code: 1,
      stdout: expect.stringMatching(/^NOT PROVEN {2}the ledger holds version /),
      stderr: '',
    });
    expect((await runVerifier(...args, '--root', proof.merkleRoot)).code).toBe(0);
    const again = await kept('newer.json', (await collection.proof(other.id)).json);
    expect((await runVerifier(again, ...args.slice(1), ...ledger(collection))).code).toBe(0);
  });
});
