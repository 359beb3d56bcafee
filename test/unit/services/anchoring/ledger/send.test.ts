import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { generateKeyPairSigner } from '@solana/web3.js';
import { SYSTEM_CLOCK } from '../../../../../lib/time/clock.ts';
import { LedgerClient } from '../../../../../services/anchoring/ledger/ledger-client.ts';
import { LedgerUnreachableError, RpcPool } from '../../../../../services/anchoring/ledger/rpc-pool.ts';
import { LedgerRelay } from '../../../../support/ledger-relay.ts';

const COLLECTION = '00112233-4455-6677-8899-aabbccddeeff';
const monotonicMs = () => SYSTEM_CLOCK.monotonicMs();

let relay: LedgerRelay;
let client: LedgerClient;
beforeAll(async () => {
  relay = await LedgerRelay.open();
  const pool = new RpcPool({ embedded: true, urls: () => [relay.url] }, monotonicMs);
  client = new LedgerClient(pool, await generateKeyPairSigner(), monotonicMs);
});
afterEach(() => {
  relay.intercept = null;
});
afterAll(() => relay.close());

const answers = (error: object) => {
  relay.intercept = async () => JSON.stringify({ jsonrpc: '2.0', id: '1', error });
};

test('recognises every refusal of the ledger, with its reason', async () => {
  const { wire } = await client.signClose(COLLECTION);
  expect(await client.send(wire)).toMatch(/\w/);
  const bytes = Buffer.from(wire, 'base64');
  bytes[10]! ^= 1;
  expect(await client.send(bytes.toString('base64'))).toMatch(/signature/i);
  expect(await client.send('AAAA')).toMatch(/\w/);
  for (const code of [-32600, -32601, -32602]) {
    answers({ code, message: `no, by ${code}` });
    expect(await client.send(wire)).toContain(`no, by ${code}`);
  }
});

test('what an endpoint cannot do is not a refusal of the ledger', async () => {
  const { wire } = await client.signClose(COLLECTION);
  for (const code of [-32603, -32005]) {
    answers({ code, message: 'not now' });
    await expect(client.send(wire)).rejects.toThrow(LedgerUnreachableError);
  }
});
