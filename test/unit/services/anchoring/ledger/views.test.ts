/**
 * Servers of one ledger that have seen different parts of it: what one server does not know must
 * not override what another said.
 */
import { expect, test } from '@jest/globals';
import { collectionRoot } from '../../../../../lib/shard/collection-root.ts';
import { until } from '../../../../support/until.ts';
import { rpc } from '../fixture.ts';
import { client, cut, fixture, height, odd, passBlocks, relay, row, stored, WAIT_MS } from './two-endpoints.ts';

/**
 * Number of blocks that expires a blockhash. Every transaction of the embedded ledger is a block.
 */
const BLOCKS = 151;

test.each([
  { what: 'a server that has not seen the blocks in which it was taken', isBehind: true },
  { what: 'servers that began after them, while an account is shown as it was before', isBehind: false },
])('a transaction is not abandoned because of $what', async ({ isBehind }) => {
  const slot = await height();
  let isOutlived = false;
  odd(
    'getSignatureStatuses',
    async ({ path, forward }) => {
      if (isOutlived && isBehind) return path === '/odd' ? { result: { context: { slot }, value: [null] } } : null;
      // No server knows the transaction until it has expired, so it stays in flight.
      const { result } = JSON.parse(await forward()) as { result: object };
      return { result: { ...result, value: [null] } };
    },
    true,
  );
  odd('getAccountInfo', ({ params }) => {
    if (!isOutlived) return null;
    if (!isBehind && (params[1]?.minContextSlot ?? 0) > slot)
      return { error: { code: -32016, message: 'Minimum context slot has not been reached' } };
    return { result: { context: { slot }, value: null } };
  });
  const anchoring = await fixture.start({ ledger: client });
  const confirmed = anchoring.submit(row.id, cut, WAIT_MS);
  await until('a transaction is in flight', async () => (await stored())?.inFlight != null);
  const { signature } = (await stored())!.inFlight!;
  await until('the ledger has it', async () => {
    const { value } = await rpc<{ value: unknown[] }>(relay.ledgerUrl, 'getSignatureStatuses', [[signature]]);
    return value[0] !== null;
  });
  await passBlocks(BLOCKS);
  isOutlived = true;
  await until('it is no longer in flight', async () => (await stored())!.inFlight?.signature !== signature);
  relay.intercept = null;
  expect(await confirmed).toMatchObject(collectionRoot(cut));
  expect((await anchoring.stats()).failures).toBe(0);
});

test('a transaction in a block that may still be dropped is neither confirmed nor abandoned, however old its blockhash', async () => {
  let isTakenBack = true;
  let answered = 0;
  let reached = 0;
  relay.rewrite = (method, answer) => {
    if (method === 'getEpochInfo')
      reached = (JSON.parse(answer) as { result: { blockHeight: number } }).result.blockHeight;
    if (method !== 'getSignatureStatuses' || !isTakenBack) return answer;
    answered += 1;
    return answer.replaceAll('"finalized"', '"processed"');
  };
  const anchoring = await fixture.start({ ledger: client });
  const confirmed = anchoring.submit(row.id, cut, WAIT_MS);
  await until('a transaction is in flight', async () => (await stored())?.inFlight !== null && answered > 0);
  const { signature, lastValidBlockHeight } = (await stored())!.inFlight!;
  await passBlocks(BLOCKS);
  // A client that asks for the height now learns that the transaction has expired.
  await client.signClose(row.id);
  await until('the height is known', async () => {
    await client.finalizedBlock();
    return reached > Number(lastValidBlockHeight);
  });
  const before = answered;
  await until('it was asked for again and again', () => answered > before + 3);
  expect(await stored()).toMatchObject({ inFlight: { signature }, confirmed: null });
  isTakenBack = false;
  expect(await confirmed).toMatchObject(collectionRoot(cut));
  expect((await anchoring.stats()).failures).toBe(0);
});
