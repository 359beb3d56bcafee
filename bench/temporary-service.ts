import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startServiceProcess } from '../examples/service-process.ts';
import type { Target } from './http-request.ts';

export const BENCH_KEY = 'pv_live_bench-bench-bench';

/** Runs `work` on a service with a temporary data folder, and removes both. */
export async function withService(
  environment: Record<string, string>,
  work: (target: Target, pid: number) => Promise<void>,
): Promise<void> {
  const dataDir = mkdtempSync(join(tmpdir(), 'provec-bench-'));
  const service = await startServiceProcess(dataDir, BENCH_KEY, environment);
  try {
    await work({ url: service.url, key: BENCH_KEY }, service.process.pid!);
  } finally {
    await service.stop();
    rmSync(dataDir, { recursive: true, force: true });
  }
}
