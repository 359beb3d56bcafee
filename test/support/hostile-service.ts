import type { Api } from './api-client.ts';
import { isThorough } from './effort.ts';
import type { LentService } from './lending.ts';
import { shareService } from './shared-service.ts';
import { TEST_KEY } from './tenant.ts';

/** The service that hostile requests are sent to. */
export interface HostileService {
  readonly url: string;
  /** Key of an account that only this test file uses. */
  readonly key: string;
  readonly api: Api;
  stop(): Promise<void>;
}

/**
 * In the gate, a service that other tests share. In the long suites, one in this process, so that
 * its event loop can be measured.
 */
export async function hostileService(kind: LentService = 'plain'): Promise<HostileService> {
  if (!isThorough) return { ...(await shareService(kind)), stop: async () => undefined };
  const { startService } = await import('./service.ts');
  const { url, api, stop } = await startService({ PROVEC_LEDGER: 'off' });
  return { url, key: TEST_KEY, api, stop };
}
