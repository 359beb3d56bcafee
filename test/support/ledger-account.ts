import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { getBase58Decoder } from '@solana/web3.js';
import type { AccountSnapshot } from '../../client/index.ts';
import type { TestService } from './service.ts';

/** Asks the embedded ledger itself, as anybody could. */
export async function askLedger<T>(service: TestService, method: string, params: unknown[]): Promise<T> {
  const response = await fetch(service.provec.devLedger!.url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  });
  const { result, error } = (await response.json()) as { result: T; error?: { message: string } };
  if (error) throw new Error(error.message);
  return result;
}

/** An account as the ledger has it now; null where there is none. */
export async function ledgerAccount(service: TestService, address: string): Promise<AccountSnapshot | null> {
  type Info = { value: { data: [string, 'base64']; owner: string } | null };
  const { value } = await askLedger<Info>(service, 'getAccountInfo', [address, { encoding: 'base64' }]);
  return value && { address, owner: value.owner, data: value.data[0] };
}

/** The address that signs anchors, in base58, from the keypair file. */
export async function authorityOf(service: TestService): Promise<string> {
  const numbers = JSON.parse(await readFile(join(service.dataDir, 'ledger-keypair.json'), 'utf8')) as number[];
  return getBase58Decoder().decode(Uint8Array.from(numbers.slice(32)));
}
