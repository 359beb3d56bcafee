/** The ledger's own clock: an account that every block writes. Layout: https://docs.anza.xyz/runtime/sysvars (Clock). */
import { address } from '@solana/web3.js';
import { EndpointError } from './http-transport.ts';

export const CLOCK_ADDRESS = address('SysvarC1ock11111111111111111111111111111111');

const OWNER = 'Sysvar1111111111111111111111111111111111111';
const CLOCK_BYTES = 40;
/** Behind the slot, the epoch's first timestamp, the epoch and that of the leader schedule. */
const UNIX_TIMESTAMP_AT = 32;

/** Unix time of a clock account as a node answers it, in base64, in whole seconds of milliseconds. Throws EndpointError where there is none, as on no ledger. */
export function clockMs(account: { data: readonly [string, ...unknown[]]; owner: string } | null): number {
  const bytes = Buffer.from(account?.data[0] ?? '', 'base64');
  if (account?.owner !== OWNER || bytes.length !== CLOCK_BYTES)
    throw new EndpointError('The endpoint has a ledger without a clock.');
  return Number(bytes.readBigInt64LE(UNIX_TIMESTAMP_AT)) * 1_000;
}
