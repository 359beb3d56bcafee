import { UnreachableLedgerError } from '../../client/cli/json-file.ts';
import { nodeAt } from '../../client/cli/ledger-source.ts';
import type { Api } from '../../client/index.ts';
import { collectionAddress } from '../../client/verify/collection-address.ts';
import { VerificationError } from '../../client/verify/verification-error.ts';
import { verifyAccount } from '../../client/verify/verify-account.ts';
import type { Contradiction, Seen } from './contradiction.ts';

/** What the user trusts instead of the service: an authority, and a ledger node. */
export interface LedgerTrust {
  authority: string;
  rpc: string;
}

type Account = { version: number; merkleRoot: string } | null;

/**
 * Compares a collection's account on the ledger with what the service says. The node may be some
 * seconds behind the service's, so the account must hold at least what the service called anchored
 * in the round before. `unread`: why the node could not be asked.
 */
export async function ledgerContradiction(
  { authority, rpc }: LedgerTrust,
  seen: Seen | undefined,
  { id, anchor }: Api.CollectionDetail,
): Promise<{ contradiction: Contradiction | null } | { unread: string }> {
  let account: Account;
  try {
    const address = collectionAddress(authority, id);
    const content = await nodeAt(rpc).readAccount(address);
    account = content === null ? null : verifyAccount({ ...content, address }, { authority, collectionId: id });
  } catch (error) {
    if (error instanceof UnreachableLedgerError) return { unread: error.message };
    if (error instanceof VerificationError) return { contradiction: differs(error.message) };
    throw error;
  }
  return { contradiction: contradictionOf(account, seen, anchor) };
}

function contradictionOf(
  account: Account,
  seen: Seen | undefined,
  anchor: Api.CollectionDetail['anchor'],
): Contradiction | null {
  const known = [seen?.anchor ?? null, anchor].filter((root) => root !== null && root.version !== null);
  const other = known.find((root) => root?.version === account?.version && root?.merkleRoot !== account?.merkleRoot);
  if (account !== null && other !== undefined)
    return differs(`version ${account.version} has the root ${account.merkleRoot} there, not ${other?.merkleRoot}`);
  const expected = seen?.anchor?.version ?? -1;
  if ((account?.version ?? -1) >= expected) return null;
  return differs(
    `it holds ${account === null ? 'nothing' : `version ${account.version}`}, but version ${expected} was called anchored`,
  );
}

const differs = (message: string): Contradiction => ({ reason: 'ledger-differs', message });
