import { type Api, apiClient } from './api-client.ts';
import { LENDER_VARIABLE, type LentService, type LentServiceInfo } from './lending.ts';
import { createTenant, TEST_KEY } from './tenant.ts';

/** An account in a service that other test files also use. */
export interface SharedService extends LentServiceInfo {
  /** The account's first key, with all scopes. */
  readonly key: string;
  /** API client with that key. */
  readonly api: Api;
}

/** Within the shortest limit on names. */
const ACCOUNT_NAME = 'sharing';

/**
 * Creates an account on the plan without limits, for tests that need only a service's API. A
 * service without an operator has one account, which all files share.
 */
export async function shareService(kind: LentService = 'plain'): Promise<SharedService> {
  const response = await fetch(`${process.env[LENDER_VARIABLE]}/${kind}`);
  const text = await response.text();
  if (!response.ok) throw new Error(`the shared service did not start: ${text}`);
  const loan = JSON.parse(text) as LentServiceInfo;
  const key = kind === 'unmanaged' ? TEST_KEY : (await createTenant(loan, 'enterprise', ACCOUNT_NAME)).key.secret;
  return { ...loan, key, api: apiClient(loan.url, key) };
}
