import type { AccountSnapshot } from '../../client/index.ts';
import type { SharedService } from './shared-service.ts';

/** Calls the embedded ledger directly, as anyone could. */
export async function askLedger<T>({ ledger }: SharedService, method: string, params: unknown[]): Promise<T> {
  const response = await fetch(ledger!.url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  });
  const { result, error } = (await response.json()) as { result: T; error?: { message: string } };
  if (error) throw new Error(error.message);
  return result;
}

/** Returns an account's current state on the ledger; null when it does not exist. */
export async function ledgerAccount(service: SharedService, address: string): Promise<AccountSnapshot | null> {
  type Info = { value: { data: [string, 'base64']; owner: string } | null };
  const { value } = await askLedger<Info>(service, 'getAccountInfo', [address, { encoding: 'base64' }]);
  return value && { address, owner: value.owner, data: value.data[0] };
}
