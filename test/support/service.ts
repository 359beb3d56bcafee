import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readConfig } from '../../lib/config.ts';
import { type Overrides, type Provec, startProvec } from '../../provec.ts';
import { type Api, apiClient } from './api-client.ts';
import { TEST_KEY } from './tenant.ts';

export interface TestService {
  readonly provec: Provec;
  readonly dataDir: string;
  readonly url: string;
  /** With the first account's key. */
  readonly api: Api;
  /**
   * Stops gracefully and starts anew on the same data; `changes` of the configuration hold from
   * then on.
   */
  restart(changes?: Record<string, string>): Promise<void>;
  /** Stops, and removes the data. */
  stop(): Promise<void>;
}

/**
 * A whole Provec in this process: real store, real ledger, real HTTP, on a port of its own and a
 * folder that goes with it.
 */
export async function startService(
  environment: Record<string, string> = {},
  overrides: Overrides = {},
): Promise<TestService> {
  const dataDir = await mkdtemp(join(tmpdir(), 'provec-service-'));
  let variables: Record<string, string> = {
    PROVEC_PORT: '0',
    PROVEC_DATA_DIR: dataDir,
    PROVEC_BOOTSTRAP_KEY: TEST_KEY,
    PROVEC_LOG_LEVEL: process.env.PROVEC_TEST_LOG_LEVEL ?? 'error',
    PROVEC_WORKERS: '1',
    // On a busy machine an anchor takes longer than the five seconds of the default.
    PROVEC_ANCHOR_WAIT_MS: '30000',
    PROVEC_DISK_RESERVE_MB: '16',
    ...environment,
  };
  const removeData = () => rm(dataDir, { recursive: true, force: true });
  const start = () => startProvec(readConfig(variables), overrides);
  let provec = await start().catch(async (error: unknown) => {
    await removeData();
    throw error;
  });
  return {
    get provec() {
      return provec;
    },
    dataDir,
    get url() {
      return provec.url!;
    },
    api: (method, path, body) => apiClient(provec.url!, TEST_KEY)(method, path, body),
    async restart(changes = {}) {
      await provec.stop();
      variables = { ...variables, ...changes };
      provec = await start();
    },
    async stop() {
      await provec.stop();
      await removeData();
    },
  };
}
