import type { AccountView, KeyView } from '../../contracts/actions/keys.ts';
import { type Api, apiClient } from './api-client.ts';

export const ADMIN_TOKEN = 'admin-token-of-the-tests-0123456789';
/** Key of the first account in every service that tests start. */
export const TEST_KEY = 'pv_live_test-key-of-the-first-account-0000000000000';

/**
 * An account in addition to the first one, created as an operator does. The service needs
 * PROVEC_ADMIN_TOKEN = ADMIN_TOKEN.
 */
export interface Tenant {
  account: AccountView;
  key: KeyView & { secret: string };
  api: Api;
}

/** Calls the API with the operator's token. */
export const operatorApi = (service: { readonly url: string }): Api => apiClient(service, ADMIN_TOKEN);

export async function createTenant(
  service: { readonly url: string },
  plan: string,
  name = `${plan} tenant`,
): Promise<Tenant> {
  const operator = operatorApi(service);
  const { status, body } = await operator<Omit<Tenant, 'api'>>('POST', '/admin/accounts', { name, plan });
  if (status !== 201) throw new Error(`the operator was refused: ${JSON.stringify(body)}`);
  return { ...body, api: apiClient(service, body.key.secret) };
}
