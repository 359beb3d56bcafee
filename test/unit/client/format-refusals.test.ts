/** What docs/format.md says must be refused, row by row, against the client. */
import { beforeAll, expect, test } from '@jest/globals';
import { type RecordProof, VerificationError, verifyAccount, verifyProof } from '../../../client/index.ts';
import { FormatPage } from '../../support/format-page.ts';
import { REFUSED_ACCOUNTS } from '../../support/refused-accounts.ts';
import { REFUSED_PROOFS } from '../../support/refused-proofs.ts';
import { EXAMPLE_COLLECTION, type ExampleAccount, exampleOnLedger, honestProofs } from './format-example.ts';

const page = FormatPage.read();
const rows = Array.from(page.text.matchAll(/^\| ([PA]\d+) \| .* \| ([\w-]+) \|$/gm), ([, row, reason]) => [
  row!,
  reason!,
]);
const ofProofs = rows.filter(([row]) => row!.startsWith('P'));
const ofAccounts = rows.filter(([row]) => row!.startsWith('A'));

let account: ExampleAccount;
let authority: string;
beforeAll(async () => {
  ({ account, authority } = await exampleOnLedger());
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
