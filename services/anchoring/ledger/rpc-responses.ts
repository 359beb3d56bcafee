/**
 * What one endpoint is asked, and what counts as its answer: nothing that no node would say does,
 * and another endpoint is asked then. Every function throws EndpointError for such an answer, and
 * what web3.js throws.
 */
import type { Address, Base64EncodedWireTransaction, Signature, SolanaError } from '@solana/web3.js';
import { SYSTEM_PROGRAM_ADDRESS } from '@solana-program/system';
import { ACCOUNT_BYTES_MAX } from '../../../client/verify/token-metadata.ts';
import { isJsonObject } from '../../../lib/records/fields.ts';
import { type AccountReading, readAccount } from './collection-account.ts';
import { EndpointError } from './http-transport.ts';
import { isAnswer, type Rpc } from './rpc-pool.ts';

/**
 * Of the newest blocks a fork may still take back the last ones; two thirds of the stake have voted
 * on a confirmed one.
 */
export const COMMITMENT = 'confirmed';

/** An account as the ledger has it. */
export type AccountState = AccountReading | { status: 'absent' };

/** An account as one endpoint showed it, at the slot that it had come to. */
export interface AccountView {
  slot: bigint;
  account: AccountState;
}

/**
 * 'failed': it was processed with an error and will never be anything else. 'processed': in a block
 * that may still be taken back. 'unknown': in none.
 */
export type TransactionStatus =
  | { status: 'confirmed' | 'processed' | 'unknown' }
  | { status: 'failed'; reason: string };

/** A block that no fork can take back. */
export interface FinalizedBlock {
  slot: bigint;
  height: bigint;
}

/** The collection's account at `address`, at `atSlot` or later. */
export async function accountAt(
  rpc: Rpc,
  abortSignal: AbortSignal,
  { address, authority, atSlot }: { address: Address; authority: string; atSlot: bigint },
): Promise<AccountView> {
  // One byte more than what is taken, so that a longer one is seen to be longer.
  const dataSlice = { offset: 0, length: ACCOUNT_BYTES_MAX + 1 };
  const options = { encoding: 'base64', commitment: COMMITMENT, dataSlice, minContextSlot: atSlot } as const;
  const answer = await rpc.getAccountInfo(address, options).send({ abortSignal });
  const slot = slotOf(answer, atSlot);
  const { value } = answer;
  if (value === null) return { slot, account: { status: 'absent' } };
  demand(isJsonObject(value) && typeof value.owner === 'string', 'whose the account is');
  demand(Array.isArray(value.data) && typeof value.data[0] === 'string', 'what the account holds');
  const bytes = Buffer.from(value.data[0], 'base64');
  // Anybody can pay to an address; nobody but the authority can give it a program.
  if (value.owner === SYSTEM_PROGRAM_ADDRESS && bytes.length === 0) return { slot, account: { status: 'absent' } };
  return { slot, account: readAccount(bytes, value.owner, authority, address) };
}

/** Of each transaction, as a node knows it that has come to `atSlot`. */
export async function statusesOf(
  rpc: Rpc,
  abortSignal: AbortSignal,
  { signatures, atSlot }: { signatures: readonly string[]; atSlot: bigint },
): Promise<TransactionStatus[]> {
  const options = { searchTransactionHistory: true };
  // This call alone takes no minContextSlot.
  const answer = await rpc.getSignatureStatuses(signatures as Signature[], options).send({ abortSignal });
  slotOf(answer, atSlot);
  const value: readonly unknown[] = answer.value;
  demand(Array.isArray(value) && value.length === signatures.length, 'what became of each transaction');
  return value.map(statusOf);
}

/** The newest block that is final. */
export async function finalizedBlock(rpc: Rpc, abortSignal: AbortSignal): Promise<FinalizedBlock> {
  const { absoluteSlot, blockHeight } = await rpc.getEpochInfo({ commitment: 'finalized' }).send({ abortSignal });
  demand(typeof absoluteSlot === 'bigint' && typeof blockHeight === 'bigint', 'where the ledger is');
  return { slot: absoluteSlot, height: blockHeight };
}

/**
 * Null when the endpoint took a transaction's bytes (base64), or the ledger has them, else why it
 * refused them.
 */
export async function handTo(rpc: Rpc, abortSignal: AbortSignal, wire: string): Promise<string | null> {
  const options = { encoding: 'base64', preflightCommitment: COMMITMENT, maxRetries: 0n } as const;
  try {
    const taken = await rpc.sendTransaction(wire as Base64EncodedWireTransaction, options).send({ abortSignal });
    demand(typeof taken === 'string', 'whether it took a transaction');
    return null;
  } catch (error) {
    if (!isAnswer(error)) throw error;
    const reason = reasonOf(error);
    return /already been processed/.test(reason) ? null : reason;
  }
}

/** Of a failed preflight the cause says why, of a wrong request the ledger's own words. */
function reasonOf({ cause, context, message }: SolanaError): string {
  if (cause instanceof Error) return cause.message;
  return '__serverMessage' in context ? String(context.__serverMessage) : message;
}

/** What a wallet holds, in lamports. */
export async function balanceOf(rpc: Rpc, abortSignal: AbortSignal, address: Address): Promise<bigint> {
  const { value } = await rpc.getBalance(address, { commitment: COMMITMENT }).send({ abortSignal });
  demand(typeof value === 'bigint', 'what a wallet holds');
  return value;
}

/** The slot of an answer, `atSlot` or later. */
export function slotOf(answer: { context: { slot: bigint } }, atSlot = 0n): bigint {
  const slot: unknown = isJsonObject(answer) && isJsonObject(answer.context) ? answer.context.slot : null;
  demand(typeof slot === 'bigint', 'what slot it has come to');
  if (slot < atSlot) throw new EndpointError(`The endpoint has not come to slot ${atSlot} yet.`);
  return slot;
}

function statusOf(found: unknown): TransactionStatus {
  if (found === null) return { status: 'unknown' };
  const what = 'what became of a transaction';
  demand(isJsonObject(found) && 'err' in found && found.err !== undefined, what);
  const { confirmations, err } = found;
  let { confirmationStatus } = found;
  // Older nodes have no words for it, but count; where nothing is left to count no fork can take it
  // back.
  if (confirmationStatus === null || confirmationStatus === undefined) {
    demand(confirmations !== undefined, what);
    confirmationStatus = confirmations === null ? 'finalized' : 'processed';
  }
  if (confirmationStatus === 'processed') return { status: 'processed' };
  demand(confirmationStatus === 'confirmed' || confirmationStatus === 'finalized', what);
  if (err === null) return { status: 'confirmed' };
  const reason = JSON.stringify(err, (_, part: unknown) => (typeof part === 'bigint' ? String(part) : part));
  return { status: 'failed', reason };
}

/** Throws EndpointError where the endpoint does not say what was asked. */
export function demand(isSaid: boolean, what: string): asserts isSaid {
  if (!isSaid) throw new EndpointError(`The endpoint does not say ${what}.`);
}
