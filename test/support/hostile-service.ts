import type { Api } from './api-client.ts';
import { isThorough } from './effort.ts';
import type { LentService } from './lending.ts';
import { shareService } from './shared-service.ts';
import { TEST_KEY } from './tenant.ts';

/** What hostile requests are sent to. */
export interface HostileService {
  readonly url: string;
  /** Of an account of its own. */
  readonly key: string;
  readonly api: Api;
  stop(): Promise<void>;
}

/**
 * In the gate a service that other tests share; in the long suites one in this process, where it
 * can be measured for how long the event loop is held.
 */
export async function hostileService(kind: LentService = 'plain'): Promise<HostileService> {
  if (!isThorough) return { ...(await shareService(kind)), stop: async () => undefined };
  const { startService } = await import('./service.ts');
  const { url, api, stop } = await startService({ PROVEC_LEDGER: 'off' });
  return { url, key: TEST_KEY, api, stop };
}
