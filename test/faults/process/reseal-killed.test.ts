import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { VerifyResult } from '../../../contracts/actions/verification.ts';
import { invariant } from '../../support/invariant.ts';
import { randomFrom } from '../../support/random.ts';
import { beginReseal, reseal } from '../../support/reseal-run.ts';
import { seed } from '../../support/seed.ts';
import { type ServiceProcess, startProcess } from '../../support/service-process.ts';

/** On a busy machine each restart takes seconds. */
const TIMEOUT_MS = 400_000;
const KILLS = 24;
const COLLECTIONS = 12;
const SHARDS = 64;

const secret = (number: number): string => `the-secret-that-this-installation-has-${number}`;
const under = (...numbers: number[]) => ({ PROVEC_SECRET: numbers.map(secret).join(' ') });

const random = randomFrom(seed);

let service: ServiceProcess;
const environment = (...numbers: number[]) => ({ ...under(...numbers), PROVEC_DATA_DIR: service.dataDir });
const names = Array.from({ length: COLLECTIONS }, (_, at) => `c${at}`);

async function expectServed(): Promise<void> {
  for (const name of names) {
    const { body } = await service.api<VerifyResult>('GET', `/collections/${name}/verify`);
    await invariant('what was written is what is stored', () =>
      expect(body).toMatchObject({ state: 'match', vectorCount: SHARDS }),
    );
  }
}

beforeAll(async () => {
  service = await startProcess({ ...under(1), PROVEC_LOG_LEVEL: 'error' });
  const records = Array.from({ length: SHARDS }, (_, at) => ({ id: `r${at}`, values: [1, at] }));
  for (const name of names) {
    await service.api('POST', '/collections', { name, dimensions: 2, shards: SHARDS });
    await service.api('POST', `/collections/${name}/upsert`, { records });
  }
  await service.kill('SIGTERM');
});
afterAll(() => service.dispose());

test(
  'killed at any instant, the service runs with both secrets, and another reseal completes',
  async () => {
    const beganMs = performance.now();
    await reseal(environment(2, 1));
    const takesMs = performance.now() - beganMs;
    let current = 1;
    for (let at = 0; at < KILLS; at++) {
      const run = beginReseal(environment(current + 1, current), '--apply');
      await delay(takesMs * (0.3 + random()));
      run.child.kill('SIGKILL');
      await run.ended;
      run.dispose();
      if (at % 3 === 0) {
        await service.restart(under(current + 1, current));
        await expectServed();
        await service.kill(at % 2 === 0 ? 'SIGKILL' : 'SIGTERM');
      }
      if (at % 4 !== 3) continue;
      const { stdout } = await reseal(environment(current + 1, current), '--apply');
      expect(stdout).toMatch(/earlier secrets can be dropped/);
      current += 1;
      await service.restart(under(current));
      await expectServed();
      await service.kill('SIGTERM');
    }
  },
  TIMEOUT_MS,
);
