/** What `prove` gives an agent: proofs that hold without the service, and only as they are. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { RecordProof } from '../../../client/index.ts';
import { verdictOn } from '../../../client/verify/verdict.ts';
import type { CollectionDetail } from '../../../contracts/actions/collections.ts';
import { Agent } from '../../support/agent.ts';
import { isThorough } from '../../support/effort.ts';
import { ledgerAccount } from '../../support/ledger-account.ts';
import { type SharedService, shareService } from '../../support/shared-service.ts';

const RECORD = { id: 'proven', values: [0.5, -1, 2], metadata: { text: 'as it was', year: 2026 } };
/** Every bit in the long suites; in the gate, one in each byte, each time another one. */
const BIT_STEP = isThorough ? 1 : 9;

let service: SharedService;
let agent: Agent;
let collectionId: string;
beforeAll(async () => {
  service = await shareService('anchored');
  agent = await Agent.overHttp(service, '2026-07-28', '?collection=proofs');
  await service.api('POST', '/collections', { name: 'proofs', dimensions: 3, shards: 4 });
  const others = Array.from({ length: 30 }, (_, at) => ({ id: `other-${at}`, values: [1, at, 2] }));
  await agent.call('remember', { records: [RECORD, ...others] });
  const { body } = await service.api<{ collection: CollectionDetail }>('GET', '/collections/proofs');
  collectionId = body.collection.id;
});
afterAll(() => agent.close());

/** Returns a function that gives the verdict on the text of a proof about the record. */
async function verifierOf(text: string, outcome: 'present' | 'absent') {
  const { proof } = JSON.parse(text) as { proof: RecordProof };
  const account = await ledgerAccount(service, proof.ledgerAddress!);
  const trusted = { authority: service.ledger!.authority, readAccount: async () => account };
  const { id, values, metadata } = RECORD;
  const expected = { id, collectionId, outcome, ...(outcome === 'present' && { values, metadata }) };
  return async (bytes: Uint8Array) => {
    const given = JSON.parse(new TextDecoder('utf8', { fatal: true }).decode(bytes)) as { proof: RecordProof };
    return verdictOn(given.proof, trusted, expected);
  };
}

describe.each(['present', 'absent'] as const)('a proof that the record is %s', (outcome) => {
  let text: string;
  let verify: Awaited<ReturnType<typeof verifierOf>>;
  beforeAll(async () => {
    if (outcome === 'absent') await agent.call('forget', { ids: [RECORD.id] });
    const told = await agent.call('prove', { id: RECORD.id });
    ({ text } = told);
    expect(told.texts).toBe(2);
    verify = await verifierOf(text, outcome);
  });

  test('holds against the ledger, and is what the API returns', async () => {
    expect(await verify(Buffer.from(text))).toMatchObject({ isProven: true, outcome });
    const { body } = await service.api('GET', `/collections/proofs/proof?id=${RECORD.id}`);
    expect(JSON.parse(text)).toEqual(body);
  });

  test('proves nothing with any bit flipped of what it claims', async () => {
    const bytes = Buffer.from(text);
    // Two names at the end say where on the ledger to look, and claim nothing: the verifier derives
    // the address itself, and needs no transaction while the account holds this root. The default
    // namespace needs no name either.
    const from = text.indexOf('"ledgerAddress":');
    const without = text.indexOf('"namespace":""');
    const claimsNothing = (at: number) => at >= from || (at > without && at < without + '"namespace"'.length - 1);
    const proven: number[] = [];
    for (let bit = 0; bit < bytes.length * 8; bit += BIT_STEP) {
      const changed = Buffer.from(bytes);
      changed[bit >> 3]! ^= 1 << (bit & 7);
      // What is no longer JSON in UTF-8 is refused before it is verified.
      const verdict = await verify(changed).catch(() => null);
      if (verdict?.isProven) proven.push(bit >> 3);
    }
    expect(proven.filter((at) => !claimsNothing(at))).toEqual([]);
  });
});
