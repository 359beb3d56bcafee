import { type Caller, call } from '../actions/call.ts';
import type { Config } from '../config.ts';

/** Whether the roots of an account's collections go to the ledger. */
export async function isAnchored(caller: Caller, config: Config, accountId: string): Promise<boolean> {
  if (config.ledger === 'off') return false;
  return (await call(caller, 'metering.limits', { accountId })).anchoring;
}
