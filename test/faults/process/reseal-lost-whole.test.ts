/** A lost secret of a store that was not tampered with. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { VerifyResult } from '../../../contracts/actions/verification.ts';
import { shardKey } from '../../../lib/shard/key.ts';
import { openStoreAsForger } from '../../support/forger.ts';
import { LedgerRelay } from '../../support/ledger-relay.ts';
import { reseal } from '../../support/reseal-run.ts';
import { startService, type TestService } from '../../support/service.ts';
import { until } from '../../support/until.ts';

const LOST = 'the-secret-that-this-installation-had';
const NEXT = 'the-secret-that-this-installation-has';

let relay: LedgerRelay;
let service: TestService;

beforeAll(async () => {
  relay = await LedgerRelay.open();
  service = await startService({ ...relay.environment, PROVEC_SECRET: LOST, PROVEC_LOG_LEVEL: 'silent' });
  const { body } = await service.api<{ collection: { id: string } }>('POST', '/collections', {
    name: 'held',
    dimensions: 1,
  });
  await service.api('POST', '/collections/held/upsert', { records: [{ id: 'a', values: [1] }] });
  const verify = () => service.api<VerifyResult>('GET', '/collections/held/verify');
  await until('it matches', async () => (await verify()).body.state === 'match');
  await service.provec.stop();
  // Adds a checkpoint whose author nothing can prove.
  const { checkpoints, close } = await openStoreAsForger(service.dataDir);
  const shard = shardKey(body.collection.id, 0);
  const staged = await checkpoints.stage(shard);
  await writeFile(join(staged, 'graph'), 'bytes');
  await checkpoints.put(shard, 1, staged);
  await close();
});
afterAll(async () => {
  await service.stop();
  await relay.close();
});

test.each([
  ['keys and checkpoints, which it never seals, are refused', ['--apply'], 1],
  ['checkpoints are, where keys are kept', ['--keep-keys', '--apply'], 0],
])('exit code 0 means that everything was held and sealed except: %s', async (_, options, keysRefused) => {
  const environment = { ...relay.environment, PROVEC_SECRET: NEXT, PROVEC_DATA_DIR: service.dataDir };
  const run = await reseal(environment, '--lost', ...options);
  expect(run).toMatchObject({ code: 0, stderr: '', stdout: expect.stringMatching(/ name held .*: held$/m) });
  expect(run.stdout).toMatch(new RegExp(`^API keys: .* ${keysRefused} refused$`, 'm'));
  expect(run.stdout).toMatch(/^checkpoints: .* 1 refused$/m);
  expect(run.stdout).toMatch(/^log entries and heads: .* 0 refused$/m);
});
