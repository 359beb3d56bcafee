import { randomUUID } from 'node:crypto';
import type { Api } from './api-client.ts';
import { LENDER_VARIABLE, type LentService } from './lent-services.ts';
import { createTenant } from './tenant.ts';

/** An account in a service that other test files use as well. */
export interface SharedService {
  readonly url: string;
  /** With the account's first key, which may do everything in the account. */
  readonly api: Api;
}

/** An account of its own, on the plan without limits, for tests that need nothing of a service but its API. */
export async function shareService(kind: LentService = 'plain'): Promise<SharedService> {
  const response = await fetch(`${process.env[LENDER_VARIABLE]}/${kind}`);
  const url = await response.text();
  if (!response.ok) throw new Error(`the shared service did not start: ${url}`);
  const { api } = await createTenant({ url }, 'enterprise', randomUUID());
  return { url, api };
}
