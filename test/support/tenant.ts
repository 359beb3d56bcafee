import type { AccountView, KeyView } from '../../lib/actions/keys.ts';
import { type Api, apiClient } from './api-client.ts';
import type { TestService } from './service.ts';

export const ADMIN_TOKEN = 'admin-token-of-the-tests-0123456789';

/** An account beside the first one, made as an operator makes it; the service needs PROVEC_ADMIN_TOKEN = ADMIN_TOKEN. */
export interface Tenant {
  account: AccountView;
  key: KeyView & { secret: string };
  api: Api;
}

/** Calls the API with the operator's token. */
export const operatorApi = (service: TestService): Api => apiClient(service.provec.url!, ADMIN_TOKEN);

export async function createTenant(service: TestService, plan: string, name = `${plan} tenant`): Promise<Tenant> {
  const url = service.provec.url!;
  const operator = operatorApi(service);
  const { status, body } = await operator<Omit<Tenant, 'api'>>('POST', '/admin/accounts', { name, plan });
  if (status !== 201) throw new Error(`the operator was refused: ${JSON.stringify(body)}`);
  return { ...body, api: apiClient(url, body.key.secret) };
}
