/**
 * Checks a proof of an earlier version with `provec-verify` and the client, against a running
 * service.
 */
import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type RecordProof, verifyOnLedger } from '../../client/index.ts';
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
import { askLedger } from '../support/ledger-account.ts';
import { type SharedService, shareService } from '../support/shared-service.ts';

const VERIFIER = join(import.meta.dirname, '../../client/cli/provec-verify.ts');

let service: SharedService;
let folder: string;
let kept: KeptProof;
let other: KeptProof;
let authority: string;

beforeAll(async () => {
  service = await shareService('anchored');
  ({ authority } = service.ledger!);
  folder = await mkdtemp(join(tmpdir(), 'provec-kept-'));
  kept = await keepProof(service, 'kept-on');
  other = await keepProof(service, 'kept-beside');
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const file = (name: string, content: unknown) => jsonFile(folder, name, content);

function verify(...args: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  const node = ['--disable-warning=ExperimentalWarning', VERIFIER, ...args];
  return new Promise((resolve) => {
    const child = execFile(process.execPath, node, (_, stdout, stderr) =>
      resolve({ code: child.exitCode!, stdout, stderr }),
    );
  });
}

const pins = () => ['--authority', authority, '--collection', kept.collection.id];
const verdict = (outcome: string) =>
  `${outcome} at version ${KEPT_VERSION}, anchored ${anchoredAt(kept)}; the collection is now at version ${NEWEST_VERSION}`;

test('the command says when its version was anchored, and where the collection is now', async () => {
  const paths = [await file('proof', { proof: kept.proof }), await file('record', KEPT_RECORD)];
  const present = await verify(paths[0]!, ...pins(), '--rpc', service.ledger!.url, '--record', paths[1]!);
  expect(present).toEqual({
    code: 0,
    stdout: [
      verdict('PRESENT'),
      `  record     "kept" was in the collection ${kept.collection.id}`,
      '  content    as expected',
      `  root       ${kept.anchors.get(KEPT_VERSION)!.merkleRoot}`,
      `  written    by the transaction ${kept.anchors.get(KEPT_VERSION)!.ledgerTx}`,
      `  ledger     ${kept.collection.anchor.ledgerAddress}, written by ${authority}`,
      '',
    ].join('\n'),
    stderr: '',
  });
  const absent = await verify(await file('absence', kept.absence), ...pins(), '--rpc', service.ledger!.url);
  expect([absent.code, absent.stdout.split('\n').slice(0, 2)]).toEqual([
    0,
    [verdict('ABSENT'), `  record     "absent" was not in the collection ${kept.collection.id}`],
  ]);
});

test("the command needs no network, given a node's answers", async () => {
  const options = { encoding: 'base64', commitment: 'finalized' };
  const answers = {
    account: await askLedger(service, 'getAccountInfo', [kept.proof.ledgerAddress, options]),
    transaction: await askLedger(service, 'getTransaction', [kept.proof.ledgerTx, options]),
  };
  const proof = await file('offline', kept.proof);
  const account = ['--account', await file('account', { result: answers.account })];
  const transaction = ['--transaction', await file('transaction', { result: answers.transaction })];
  const held = await verify(proof, ...pins(), ...account, ...transaction);
  expect([held.code, held.stdout.split('\n')[0]]).toEqual([0, verdict('PRESENT')]);
  const without = await verify(proof, ...pins(), ...account);
  expect(without).toMatchObject({ code: 1, stdout: expect.stringMatching(/^NOT PROVEN .* give the transaction /) });
  for (const [name, content] of Object.entries({ 'no-answer': {}, 'an-error': { error: { message: 'gone' } } })) {
    const misread = await verify(proof, ...pins(), ...account, '--transaction', await file(name, content));
    expect(misread).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining(name) });
  }
  const alone = await verify(proof, ...pins(), '--rpc', service.ledger!.url, ...transaction);
  expect(alone).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('Give --transaction together with --account'),
  });
});

test('the client returns the same', async () => {
  const trusted = { authority, collectionId: kept.collection.id, rpcUrl: service.ledger!.url };
  const { proof } = kept;
  expect(await verifyOnLedger(proof, KEPT_RECORD, trusted)).toMatchObject({
    outcome: 'present',
    anchor: { version: NEWEST_VERSION, merkleRoot: kept.collection.merkleRoot },
    transaction: { signature: proof.ledgerTx, anchoredAt: anchoredAt(kept), slot: expect.any(Number) },
  });
  await expect(verifyOnLedger(proof, { ...KEPT_RECORD, values: [1, 1] }, trusted)).rejects.toMatchObject({
    reason: 'wrong-content',
  });
  const newest = await service.api<{ proof: RecordProof }>('GET', '/collections/kept-on/proof?id=kept');
  expect(await verifyOnLedger(newest.body.proof, KEPT_RECORD, trusted)).toMatchObject({ transaction: null });
});

describe('is refused', () => {
  test.each(Object.keys(KEPT_FORGERIES))('%s', async (name) => {
    const forged = KEPT_FORGERIES[name]!(kept, other);
    const node = forged.answerOf ? await forgingNode(service.ledger!.url, forged.answerOf) : null;
    const rpcUrl = node?.url ?? service.ledger!.url;
    const trusted = { authority, collectionId: kept.collection.id, rpcUrl };
    await expect(verifyOnLedger(forged.proof as RecordProof, {}, trusted)).rejects.toMatchObject({
      name: 'VerificationError',
    });
    const said = await verify(await file('forged', forged.proof), ...pins(), '--rpc', rpcUrl);
    expect(said).toEqual({ code: 1, stdout: expect.stringMatching(/^NOT PROVEN {2}[^\n]+\n$/), stderr: '' });
    node?.close();
  });
});
