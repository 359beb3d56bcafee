import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { readConfig } from '../../process/config.ts';
import { type Overrides, type Provec, startProvec } from '../../provec.ts';
import { type Api, apiClient } from './api-client.ts';
import { smallService } from './environment.ts';
import { TEST_KEY } from './tenant.ts';

export interface TestService {
  readonly provec: Provec;
  readonly dataDir: string;
  readonly url: string;
  /** Log lines since the last start, as JSON; empty if `environment` sets no log level. */
  readonly logged: string;
  /** API client with the first account's key. */
  readonly api: Api;
  /** Stops gracefully and starts again on the same data. `changes` to the configuration persist. */
  restart(changes?: Record<string, string>): Promise<void>;
  /** Stops the service and removes its data. */
  stop(): Promise<void>;
}

/**
 * Starts a whole Provec in this process, with the real store, ledger and HTTP server, on its own
 * port and a temporary folder. If `environment` sets the log level, the log is kept in `logged`;
 * otherwise errors go to stderr.
 */
export async function startService(
  environment: Record<string, string> = {},
  overrides: Overrides = {},
): Promise<TestService> {
  const dataDir = await mkdtemp(join(tmpdir(), 'provec-service-'));
  let variables = smallService(dataDir, {
    PROVEC_LOG_LEVEL: process.env.PROVEC_TEST_LOG_LEVEL ?? 'error',
    // On a busy machine an anchor takes longer than the default of five seconds.
    PROVEC_ANCHOR_WAIT_MS: '30000',
    ...environment,
  });
  const removeData = () => rm(dataDir, { recursive: true, force: true });
  const level = environment.PROVEC_LOG_LEVEL;
  let logged = '';
  const write = (line: string): void => {
    logged += line;
  };
  const log = level && pino({ level }, { write });
  const start = () => {
    logged = '';
    return startProvec(readConfig(variables), { ...(log && { log }), ...overrides });
  };
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
    get logged() {
      return logged;
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
