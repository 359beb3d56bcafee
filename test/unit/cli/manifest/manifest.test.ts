/** Manifests (docs/import-manifest.md): every refusal of the page, and every changed byte. */
import { createHash, generateKeyPairSync } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import {
  endLine,
  headLine,
  type ManifestEnd,
  type ManifestHead,
  recordLine,
  signatureLine,
} from '../../../../cli/manifest/manifest-lines.ts';
import { readManifest } from '../../../../cli/manifest/manifest-reader.ts';
import { ManifestWriter, partPath } from '../../../../cli/manifest/manifest-writer.ts';
import { SigningKey } from '../../../../cli/manifest/signing-key.ts';
import { RecordChecker } from '../../../../cli/moving/record-checker.ts';
import { rootOfRecords } from '../../../../client/index.ts';
import { LeafTable } from '../../../../client/verify/leaf-table.ts';
import { isThorough } from '../../../support/effort.ts';

const RECORDS = [
  { id: 'a', values: [1, 2], metadata: { x: 'ü' } },
  { id: 'b', values: [0.1, -0], metadata: {}, namespace: 'n' },
  { id: 'a', values: [3, 4], metadata: {}, namespace: 'n' },
];
const key = new SigningKey(generateKeyPairSync('ed25519').privateKey);
const head: ManifestHead = {
  format: 'PM1',
  signer: key.signer,
  startedAt: '2026-11-28T08:00:00.000Z',
  source: { kind: 'ndjson', file: 'a.ndjson', bytes: 3 },
  options: { leaveOut: [] },
  target: {
    url: 'http://127.0.0.1:8080',
    collection: 'notes',
    collectionId: '6f1c1c0e-5a3e-4a34-9d2b-0d7d7b8a1f10',
    dimensions: 2,
    metric: 'dot',
  },
};
const end: ManifestEnd = {
  finishedAt: '2026-11-28T08:00:01.000Z',
  sourceCount: 3,
  leftOut: {},
  count: 3,
  vectorCount: 3,
  merkleRoot: rootOfRecords(RECORDS),
  version: 1,
  ledgerAddress: null,
  ledgerTx: null,
};

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'provec-manifest-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** Writes a manifest as an import does. */
async function written(name: string, ending: Partial<ManifestEnd> = {}): Promise<string> {
  const path = join(folder, name);
  const writer = await ManifestWriter.begin(path, head);
  await writer.add(checked(writer));
  await writer.finish({ ...end, ...ending }, key);
  await writer.close();
  return path;
}

const checked = ({ leaves }: { leaves: LeafTable }, records: readonly (typeof RECORDS)[number][] = RECORDS) => {
  const checker = new RecordChecker({ dimensions: 2, metric: 'dot', namespace: '' }, leaves);
  return records.map((record) => checker.check(record).record!);
};

/** Signs any lines, to show what is refused besides a wrong signature. */
async function signed(...lines: string[]): Promise<string> {
  const text = lines.join('');
  const path = join(folder, 'signed');
  await writeFile(path, text + signatureLine(key.signatureOf(createHash('sha256').update(text).digest())));
  return path;
}

test('a manifest that was written is read: its head, end, leaves and root', async () => {
  const found = await readManifest(await written('whole'), key.signer);
  expect(found).toMatchObject({ head, end });
  expect(found.leaves.root()).toBe(rootOfRecords(RECORDS));
});

test('every changed, missing and added byte is refused', async () => {
  const bytes = await readFile(await written('changed'));
  const path = join(folder, 'other');
  const refused = async (content: Uint8Array) => {
    await writeFile(path, content);
    await expect(readManifest(path, key.signer)).rejects.toMatchObject({ reason: expect.any(String) });
  };
  // Every line in the gate, every byte in the long suite.
  for (let at = 0; at < bytes.length; at += isThorough ? 1 : 13) {
    const changed = Buffer.from(bytes);
    changed[at] ^= 1 << (at % 8);
    await refused(changed);
  }
  for (const length of [0, 1, bytes.length - 146, bytes.length - 1]) await refused(bytes.subarray(0, length));
  for (const more of ['\n', ' ', signatureLine('0'.repeat(128))])
    await refused(Buffer.concat([bytes, Buffer.from(more)]));
});

test('a signed manifest is refused for its content', async () => {
  const lines = RECORDS.map((_, at) => recordLine(checked({ leaves: new LeafTable() })[at]));
  const own = headLine(head);
  const ending = endLine(end);
  const reasonOf = async (...given: string[]) =>
    readManifest(await signed(...given), key.signer).then(
      () => 'accepted',
      ({ reason }) => reason,
    );
  expect(await reasonOf(own, ...lines, ending)).toBe('accepted');
  for (const [reason, ...given] of [
    ['malformed', ...lines, ending],
    ['malformed', own, ...lines],
    ['malformed', own, ...lines, ending, ending],
    ['malformed', own, lines[0].replace('"leaf"', '"id":"a","leaf"'), ...lines.slice(1), ending],
    ['malformed', own, lines[0].replace('"leaf"', '"more":1,"leaf"'), ...lines.slice(1), ending],
    ['malformed', own.replace('PM1', 'PM2'), ...lines, ending],
    ['wrong-signer', headLine({ ...head, signer: '0'.repeat(64) }), ...lines, ending],
    ['wrong-content', own, ...lines, lines[0], endLine({ ...end, count: 4, vectorCount: 4 })],
    ['wrong-content', own, ...lines.slice(1), ending],
    ['wrong-content', own, ...lines, endLine({ ...end, vectorCount: 2 })],
    ['wrong-root', own, ...lines, endLine({ ...end, merkleRoot: '0'.repeat(64) })],
    ['wrong-root', own, ...lines.slice(1), endLine({ ...end, count: 2, vectorCount: 2 })],
    // The collection held another record: the list cannot give the root.
    ['accepted', own, ...lines, endLine({ ...end, vectorCount: 4, merkleRoot: '0'.repeat(64) })],
  ])
    expect([given.join(''), await reasonOf(...given)]).toEqual([given.join(''), reason]);
});

test('a manifest continues after what was kept of it', async () => {
  const path = join(folder, 'resumed');
  const first = await ManifestWriter.begin(path, head);
  await first.add(checked(first, RECORDS.slice(0, 2)));
  const kept = await first.sync();
  await first.add(checked(first, RECORDS.slice(2)));
  await first.close();
  const second = await ManifestWriter.resume(path, kept);
  expect(second.leaves.size).toBe(2);
  await second.add(checked(second, RECORDS.slice(2)));
  await second.finish(end, key);
  await second.close();
  expect(await readFile(path, 'utf8')).toBe(await readFile(await written('at-once'), 'utf8'));
  await writeFile(partPath(path), 'short');
  await expect(ManifestWriter.resume(path, kept)).rejects.toThrow('is shorter than its checkpoint says');
});
