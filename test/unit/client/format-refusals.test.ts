/** Checks, row by row, that the client refuses what docs/format.md says must be refused. */
import { beforeAll, describe, expect, test } from '@jest/globals';
import {
  type RecordProof,
  VerificationError,
  verifyAccount,
  verifyOnLedger,
  verifyProof,
  verifyTransaction,
} from '../../../client/index.ts';
import { verdictOn } from '../../../client/verify/verdict.ts';
import { FormatPage } from '../../support/format-page.ts';
import { REFUSED_ACCOUNTS } from '../../support/refused-accounts.ts';
import { REFUSED_PROOFS } from '../../support/refused-proofs.ts';
import {
  type HonestTransaction,
  REFUSED_TRANSACTIONS,
  type TransactionAttempt,
} from '../../support/refused-transactions.ts';
import {
  EXAMPLE_COLLECTION,
  type ExampleAccount,
  exampleOnLedger,
  honestProofs,
  honestTransaction,
} from './format-example.ts';

const page = FormatPage.read();
const rows = Array.from(page.text.matchAll(/^\| ([PAT]\d+) \| .* \| ([\w-]+) \|$/gm), ([, row, reason]) => [
  row!,
  reason!,
]);
const ofProofs = rows.filter(([row]) => row!.startsWith('P'));
const ofAccounts = rows.filter(([row]) => row!.startsWith('A'));
const ofTransactions = rows.filter(([row]) => row!.startsWith('T'));

let account: ExampleAccount;
let authority: string;
let transaction: HonestTransaction;
beforeAll(async () => {
  const example = await exampleOnLedger();
  ({ account, authority } = example);
  transaction = honestTransaction(example);
});

function reasonOf(attempt: () => unknown): unknown {
  try {
    return attempt();
  } catch (error) {
    return error instanceof VerificationError ? error.reason : error;
  }
}

test('each row has its forgeries', () => {
  expect(ofProofs.map(([row]) => row)).toEqual(Object.keys(REFUSED_PROOFS));
  expect(ofAccounts.map(([row]) => row)).toEqual(Object.keys(REFUSED_ACCOUNTS));
  expect(ofTransactions.map(([row]) => row)).toEqual(Object.keys(REFUSED_TRANSACTIONS));
});

test.each(ofProofs)('%s of a proof: %s', (row, reason) => {
  const attempts = honestProofs(page).flatMap((honest) => REFUSED_PROOFS[row]!(honest));
  expect(attempts.length).toBeGreaterThan(2);
  for (const { proof, root, id, record } of attempts) {
    const found = reasonOf(() => verifyProof(root, proof as RecordProof, { ...record, id }));
    expect([proof, found]).toEqual([proof, reason]);
  }
});

test.each(ofAccounts)('%s of an account: %s', (row, reason) => {
  const attempts = REFUSED_ACCOUNTS[row]!(account);
  expect(attempts.length).toBeGreaterThan(0);
  for (const [at, attempt] of attempts.entries()) {
    const found = reasonOf(() => verifyAccount(attempt, { authority, collectionId: EXAMPLE_COLLECTION }));
    expect([at, found]).toEqual([at, reason]);
  }
});

describe('a kept proof, by the transaction that anchored it', () => {
  /** Changes the account to another root of a later version. */
  const moved = () => {
    const data = Buffer.from(account.data);
    data.write('4', data.indexOf('version') + 'version'.length + 4 + 19);
    data.write('f', data.indexOf('merkleRoot') + 'merkleRoot'.length + 4);
    return { ...account, data: data.toString('base64') };
  };
  const [kept] = honestProofs(page);
  const readAccount = async (address: string) => (address === account.address ? moved() : null);
  const pending = { ...kept!.proof, ledgerTx: null };

  /** Results of the client and of the command. */
  async function foundOf({ transaction: answer, expected }: TransactionAttempt): Promise<unknown[]> {
    const { signature: ledgerTx, merkleRoot, version, collectionId } = expected;
    const proof = { ...kept!.proof, ledgerTx, merkleRoot, version, collectionId };
    const ledger = { authority: expected.authority, collectionId, readAccount, readTransaction: async () => answer };
    const { isProven, lines } = await verdictOn(proof, ledger, { collectionId });
    return [await verifyOnLedger(proof, {}, ledger).catch(({ reason }) => reason), isProven, lines];
  }

  test('is valid, at its own version', async () => {
    const { expected } = transaction;
    const [found, isProven, lines] = await foundOf(transaction);
    const anchored = { signature: expected.signature, anchoredAt: '2026-11-27T15:42:53Z' };
    expect(found).toMatchObject({ outcome: 'present', anchor: { version: 4 }, transaction: anchored });
    expect([isProven, (lines as string[])[0]]).toEqual([
      true,
      'PRESENT at version 3, anchored 2026-11-27T15:42:53Z; the collection is now at version 4',
    ]);
  });

  test("is valid even if the node does not know the block's time", async () => {
    for (const blockTime of [null, undefined]) {
      const [found, , lines] = await foundOf({
        ...transaction,
        transaction: { ...transaction.transaction, blockTime },
      });
      expect(found).toMatchObject({ outcome: 'present', transaction: { anchoredAt: null } });
      expect((lines as string[])[0]).toMatch(/^PRESENT at version 3, anchored in slot 229317437; the collection is/);
    }
  });

  test.each(ofTransactions)('%s of a transaction: %s', async (row, reason) => {
    const attempts = REFUSED_TRANSACTIONS[row]!(transaction);
    expect(attempts.length).toBeGreaterThan(0);
    for (const [at, attempt] of attempts.entries()) {
      const found = reasonOf(() => verifyTransaction(attempt.transaction, attempt.expected));
      expect([at, found]).toEqual([at, reason]);
      // Another authority or collection has another account, or none.
      const isPinned = attempt.expected.authority === authority && attempt.expected.collectionId === EXAMPLE_COLLECTION;
      const refused = isPinned ? reason : 'wrong-account';
      const [byClient, isProven, lines] = await foundOf(attempt);
      expect([at, byClient, isProven, lines]).toEqual([at, refused, false, [expect.stringContaining(`(${refused})`)]]);
    }
  });

  test('needs no transaction while the account has its root', async () => {
    const { authority: pinned, collectionId } = transaction.expected;
    const now = async () => ({ ...account, data: Buffer.from(account.data).toString('base64') });
    const ledger = { authority: pinned, collectionId, readAccount: now };
    expect(await verifyOnLedger(pending, {}, ledger)).toMatchObject({ outcome: 'present', transaction: null });
  });

  test('names the collection id that the caller has to give', async () => {
    const ledger = { authority: transaction.expected.authority, readAccount } as unknown as Parameters<
      typeof verifyOnLedger
    >[2];
    await expect(verifyOnLedger(pending, {}, ledger)).rejects.toThrow(
      `collectionId is missing: pass the id that you noted when you created the collection. The proof names ${pending.collectionId}`,
    );
  });

  test('is refused without its transaction, and if no transactions can be read', async () => {
    const { authority: pinned, collectionId } = transaction.expected;
    const ledger = { authority: pinned, collectionId, readAccount };
    for (const ledgerTx of [null, undefined, transaction.expected.signature])
      await expect(verifyOnLedger({ ...kept!.proof, ledgerTx }, {}, ledger)).rejects.toMatchObject({
        reason: 'wrong-root',
      });
    await expect(verifyOnLedger({ ...pending, version: 0 }, {}, { ...ledger })).rejects.toMatchObject({
      reason: 'wrong-root',
      message:
        'The ledger holds version 4, and the proof is of version 0, before the first write, which has no anchor. Fetch it again.',
    });
  });
});
