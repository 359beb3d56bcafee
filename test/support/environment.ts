import { TEST_KEY } from './tenant.ts';

/** Variables of a small service on its own port, with its data in `dataDir`. */
export const smallService = (dataDir: string, changes: Record<string, string> = {}): Record<string, string> => ({
  PROVEC_PORT: '0',
  PROVEC_DATA_DIR: dataDir,
  PROVEC_BOOTSTRAP_KEY: TEST_KEY,
  PROVEC_WORKERS: '1',
  PROVEC_DISK_RESERVE_MB: '16',
  ...changes,
});
