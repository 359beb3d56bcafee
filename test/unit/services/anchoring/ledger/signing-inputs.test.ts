import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { generateKeyPairSigner, type KeyPairSigner } from '@solana/web3.js';
import { SYSTEM_CLOCK } from '../../../../../lib/time/clock.ts';
import { LedgerClient } from '../../../../../services/anchoring/ledger/ledger-client.ts';
import { LedgerUnreachableError, RpcPool } from '../../../../../services/anchoring/ledger/rpc-pool.ts';
import { priorityFee } from '../../../../../services/anchoring/ledger/signing-inputs.ts';
import { LedgerRelay } from '../../../../support/ledger-relay.ts';

const COLLECTION = '00112233-4455-6677-8899-aabbccddeeff';
const ROOT = { merkleRoot: 'ab'.repeat(32), version: 2, vectorCount: 1, decisions: 0 };
const monotonicMs = () => SYSTEM_CLOCK.monotonicMs();

let relay: LedgerRelay;
let signer: KeyPairSigner;
beforeAll(async () => {
  relay = await LedgerRelay.open();
  signer = await generateKeyPairSigner();
});
afterEach(() => {
  relay.rewrite = null;
});
afterAll(() => relay.close());

const poolOf = (...urls: string[]) => new RpcPool({ embedded: true, urls: () => urls }, monotonicMs);
const clientOf = (...urls: string[]) => new LedgerClient(poolOf(...urls), signer, monotonicMs);

/** Changes the ledger's result of one method. */
function lie(about: string, change: (result: never) => unknown): void {
  relay.rewrite = (method, answer) => {
    if (method !== about) return answer;
    const parsed = JSON.parse(answer) as { result: never };
    return JSON.stringify({ ...parsed, result: change(parsed.result) });
  };
}

type Latest = { value: { blockhash: string; lastValidBlockHeight: number } };
const lieAboutHeight = (blocks: number) =>
  lie('getLatestBlockhash', (latest: Latest) => {
    const { lastValidBlockHeight } = latest.value;
    return { ...latest, value: { ...latest.value, lastValidBlockHeight: lastValidBlockHeight + blocks } };
  });

describe('a last valid height that no blockhash has', () => {
  // The embedded ledger finalizes every block at once, and makes one per 400 ms if asked.
  test.each([-1_000_000, -150, -149, -100, 1_000, 2 ** 52 - 2 ** 40])(
    'by %d blocks is not used for signing',
    async (by) => {
      lieAboutHeight(by);
      const client = clientOf(relay.url);
      await expect(client.signUpdate(COLLECTION, ROOT)).rejects.toThrow(LedgerUnreachableError);
      await expect(client.signClose(COLLECTION)).rejects.toThrow(LedgerUnreachableError);
      await expect(client.signCreate(COLLECTION)).rejects.toThrow(LedgerUnreachableError);
    },
  );

  test("is the endpoint's fault: another one is asked", async () => {
    lieAboutHeight(-1_000);
    const { lastValidBlockHeight } = await clientOf(relay.url, relay.ledgerUrl).signUpdate(COLLECTION, ROOT);
    const { height } = await clientOf(relay.ledgerUrl).finalizedBlock();
    expect(lastValidBlockHeight).toBeGreaterThan(height);
  });

  test('late finality is not', async () => {
    lieAboutHeight(200);
    expect(await clientOf(relay.url).signUpdate(COLLECTION, ROOT)).toMatchObject({ signature: expect.any(String) });
  });
});

describe('prices of the ledger are accepted up to a bound', () => {
  test('a rent of more than a tenth of a SOL is not paid', async () => {
    lie('getMinimumBalanceForRentExemption', () => 100_000_001);
    await expect(clientOf(relay.url).signCreate(COLLECTION)).rejects.toThrow(LedgerUnreachableError);
    relay.rewrite = null;
    expect(await clientOf(relay.url).signCreate(COLLECTION)).toMatchObject({ signature: expect.any(String) });
  });

  test.each([
    [[0, 0, 0, 700], 700n],
    [[5, 2_000, 9, 10], 2_000n],
    [[90_000_000_000], 100_000n],
    [[0, 0, 100_001, 100_001], 100_000n],
    [[], 0n],
  ])('of fees of %j %d micro-lamports are paid', async (fees, paid) => {
    lie('getRecentPrioritizationFees', () => fees.map((prioritizationFee, slot) => ({ slot, prioritizationFee })));
    expect(await poolOf(relay.url).call(priorityFee)).toBe(paid);
  });
});
