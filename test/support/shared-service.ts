import { type Api, apiClient } from './api-client.ts';
import { LENDER_VARIABLE, type LentService, type Loan } from './lending.ts';
import { createTenant, TEST_KEY } from './tenant.ts';

/** An account in a service that other test files use as well. */
export interface SharedService extends Loan {
  /** The account's first key, which may do everything in the account. */
  readonly key: string;
  /** With that key. */
  readonly api: Api;
}

/** As short as the shortest limit on it. */
const ACCOUNT_NAME = 'sharing';

/**
 * An account of its own, on the plan without limits, for tests that need nothing of a service but
 * its API. In one without an operator it is the first account, which all files there have in
 * common.
 */
export async function shareService(kind: LentService = 'plain'): Promise<SharedService> {
  const response = await fetch(`${process.env[LENDER_VARIABLE]}/${kind}`);
  const text = await response.text();
  if (!response.ok) throw new Error(`the shared service did not start: ${text}`);
  const loan = JSON.parse(text) as Loan;
  const key = kind === 'unmanaged' ? TEST_KEY : (await createTenant(loan, 'enterprise', ACCOUNT_NAME)).key.secret;
  return { ...loan, key, api: apiClient(loan.url, key) };
}
