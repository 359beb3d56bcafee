/** Checks a proof of an earlier version with examples/verify.py, against a running service. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import {
  anchoredAt,
  forgingNode,
  jsonFile,
  KEPT_FORGERIES,
  KEPT_RECORD,
  KEPT_VERSION,
  type KeptProof,
  keepProof,
  NEWEST_VERSION,
} from '../support/kept-proof.ts';
import { type SharedService, shareService } from '../support/shared-service.ts';
import { runVerifier } from './python.ts';

let service: SharedService;
let folder: string;
let kept: KeptProof;
let other: KeptProof;

beforeAll(async () => {
  service = await shareService('anchored');
  folder = await mkdtemp(join(tmpdir(), 'provec-kept-'));
  kept = await keepProof(service, 'kept-python');
  other = await keepProof(service, 'kept-python-beside');
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const file = (name: string, content: unknown) => jsonFile(folder, name, content);

const pins = (rpc: string) => [
  ...['--collection', kept.collection.id, '--authority', service.ledger!.authority, '--rpc', rpc],
];

test('is valid at its own version, present and absent', async () => {
  const since = `at version ${KEPT_VERSION}, anchored ${anchoredAt(kept)}; the collection is now at version ${NEWEST_VERSION}`;
  const record = await file('record', KEPT_RECORD);
  const ledger = pins(service.ledger!.url);
  const root = `root ${kept.proof.merkleRoot}, of the transaction ${kept.proof.ledgerTx}`;
  expect(await runVerifier(await file('proof', { proof: kept.proof }), '--record', record, ...ledger)).toEqual({
    code: 0,
    stdout: `PRESENT ${since}: "kept", with these values and metadata; ${root}\n`,
    stderr: '',
  });
  expect(await runVerifier(await file('absence', kept.absence), '--absent', 'absent', ...ledger)).toEqual({
    code: 0,
    stdout: `ABSENT ${since}: "absent"; ${root}\n`,
    stderr: '',
  });
});

test('a refusal says why: its anchor was pending, or the collection was deleted', async () => {
  const record = ['--record', await file('record', KEPT_RECORD)];
  const pending = await file('pending', { ...kept.proof, ledgerTx: null });
  expect(await runVerifier(pending, ...record, ...pins(service.ledger!.url))).toEqual({
    code: 1,
    stdout: `NOT PROVEN  the ledger holds version ${NEWEST_VERSION}, and the proof, of version ${KEPT_VERSION}, names no transaction: its anchor was pending when it was fetched, so fetch it again\n`,
    stderr: '',
  });
  const proof = await file('orphan', { ...kept.proof, collectionId: '11111111-2222-4333-8444-555555555555' });
  const elsewhere = pins(service.ledger!.url).with(1, '11111111-2222-4333-8444-555555555555');
  expect(await runVerifier(proof, ...record, ...elsewhere)).toMatchObject({
    code: 1,
    stdout: expect.stringContaining('the collection was deleted, which closes its account, or the node is of another'),
  });
});

describe('is refused', () => {
  test.each(Object.keys(KEPT_FORGERIES))('%s', async (name) => {
    const forged = KEPT_FORGERIES[name]!(kept, other);
    const node = forged.answerOf ? await forgingNode(service.ledger!.url, forged.answerOf) : null;
    const record = await file('record', KEPT_RECORD);
    const args = ['--record', record, ...pins(node?.url ?? service.ledger!.url)];
    expect(await runVerifier(await file('forged', forged.proof), ...args)).toEqual({
      code: 1,
      stdout: expect.stringMatching(/^NOT PROVEN {2}[ -~]+\n$/),
      stderr: '',
    });
    node?.close();
  });
});
