/** An impossible or refusing response counts against the endpoint that sent it only. */
import { describe, expect, test } from '@jest/globals';
import { LedgerUnreachableError } from '../../../../../services/anchoring/ledger/rpc-pool.ts';
import { until } from '../../../../support/until.ts';
import { client, cut, fixture, newClient, odd, row, truth, WAIT_MS } from './two-endpoints.ts';

describe('an answer that no node gives', () => {
  const context = { slot: 1_000_000_000 };
  const stranger = { slot: 1, err: null, confirmationStatus: 'finalized', confirmations: null };
  test.each([
    ['nothing', null],
    ['no statuses', { context }],
    ['fewer statuses', { context, value: [] }],
    ['more statuses', { context, value: [stranger, stranger] }],
    ['an empty status', { context, value: [{}] }],
    ['no error', { context, value: [{ ...stranger, err: undefined }] }],
    ['an unknown word', { context, value: [{ ...stranger, confirmationStatus: 'rooted' }] }],
    ['neither word nor count', { context, value: [{ slot: 1, err: null }] }],
    ['no slot', { value: [stranger] }],
  ])('%s is not a status', async (_, result) => {
    odd('getSignatureStatuses', () => ({ result }));
    const { signature } = await truth.signClose(row.id);
    expect(await client.status(signature)).toEqual({ status: 'unknown' });
  });

  test.each([
    ['a count of votes', { confirmations: 3 }, 'processed'],
    ['no votes left to count', { confirmations: null, confirmationStatus: null }, 'confirmed'],
    ['an error', { confirmations: 3, confirmationStatus: 'confirmed', err: { InstructionError: [0, 'X'] } }, 'failed'],
  ])('%s is a status', async (_, part, status) => {
    odd('getSignatureStatuses', () => ({ result: { context, value: [{ slot: 1, err: null, ...part }] } }));
    expect(await client.status('1'.repeat(64))).toMatchObject({ status });
  });

  test.each([
    ['nothing', null],
    ['no account', { context }],
    ['no owner', { context, value: { data: ['', 'base64'] } }],
    ['no data', { context, value: { owner: '1'.repeat(32) } }],
    ['no slot', { value: null }],
    ['an earlier slot than was asked for', { context: { slot: 1 }, value: null }],
  ])('%s is not an account', async (_, result) => {
    const { wire, signature } = await truth.signCreate(row.id);
    await truth.send(wire);
    await until('it is there', async () => (await truth.status(signature)).status === 'confirmed');
    odd('getAccountInfo', () => ({ result }));
    expect(await client.read(row.id, 2n)).toEqual({ status: 'found', fields: null });
    // A request without a minimum slot may get an older state.
    if (result === null || !('context' in result) || result.context.slot > 1)
      expect((await client.survey(row.id, { created: false, confirmed: null })).account.status).toBe('found');
  });
});

describe('inputs for signing', () => {
  const context = { slot: 1_000_000_000 };
  const value = { blockhash: '1'.repeat(32), lastValidBlockHeight: 170 };
  test.each([
    ['getLatestBlockhash', 'no blockhash', { context, value: { ...value, blockhash: '' } }],
    ['getLatestBlockhash', 'no height', { context, value: { ...value, lastValidBlockHeight: null } }],
    ['getLatestBlockhash', 'a blockhash of before the newest finalized block', { context: { slot: 0 }, value }],
    ['getMinimumBalanceForRentExemption', 'no rent', null],
    ['getMinimumBalanceForRentExemption', 'a rent of nothing', 0],
    ['getRecentPrioritizationFees', 'no fees', null],
    ['getRecentPrioritizationFees', 'fees below nothing', [{ slot: 1, prioritizationFee: -1 }]],
    ['sendTransaction', 'neither taken nor refused', null],
    ['sendTransaction', 'taken and not handed on', '1'.repeat(64)],
  ])('%s: %s at one endpoint', async (method, _, result) => {
    odd(method, () => ({ result }));
    const anchoring = await fixture.start({ ledger: client });
    expect(await anchoring.submit(row.id, cut, WAIT_MS)).toMatchObject({ version: 1 });
    expect((await anchoring.stats()).failures).toBe(0);
  });
});

test('nor is a single endpoint trusted', async () => {
  const { wire } = await truth.signClose(row.id);
  const alone = await newClient(['/odd']);
  odd('getLatestBlockhash', async ({ forward }) => {
    const { result } = JSON.parse(await forward()) as { result: object };
    return { result: { ...result, context: { slot: 0 } } };
  });
  await expect(alone.signClose(row.id)).rejects.toThrow(LedgerUnreachableError);
  odd('sendTransaction', () => ({ result: null }));
  await expect(alone.send(wire)).rejects.toThrow(LedgerUnreachableError);
});

describe('a refusal of one endpoint', () => {
  test.each([
    ['of a method that it lacks', 'getLatestBlockhash', { code: -32601, message: 'Method not found' }],
    [
      'of a blockhash that it does not know yet',
      'sendTransaction',
      { code: -32002, message: 'Transaction simulation failed', data: { err: 'BlockhashNotFound', logs: [] } },
    ],
  ])("%s is not the ledger's", async (_, method, error) => {
    odd(method, () => ({ error }));
    const anchoring = await fixture.start({ ledger: client });
    expect(await anchoring.submit(row.id, cut, WAIT_MS)).toMatchObject({ version: 1 });
  });
});
