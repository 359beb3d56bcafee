import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { eventually } from '../support/accounts.ts';
import { invariant } from '../support/invariant.ts';
import { runningIn } from '../support/process-group.ts';
import { type ServiceProcess, StartedProcess, startProcess } from '../support/service-process.ts';

let service: ServiceProcess;
const others: StartedProcess[] = [];

beforeAll(async () => {
  service = await startProcess();
});
afterAll(async () => {
  for (const other of others) other.dispose();
  await service.dispose();
});

test('while a process lives, a second start on its folder is refused in one line and does it no harm', async () => {
  await service.api('POST', '/collections', { name: 'kept', dimensions: 2 });
  const second = new StartedProcess({ PROVEC_PORT: '0', PROVEC_DATA_DIR: service.dataDir });
  others.push(second);
  expect(await second.ended).toEqual({ code: 1, signal: null });
  expect(second.stdout).toBe('');
  expect(second.stderr).toBe(
    `Provec cannot start: The data directory ${service.dataDir} is in use by process ${service.pid}; ` +
      'stop it or set PROVEC_DATA_DIR to another folder.\n',
  );
  const upsert = await service.api('POST', '/collections/kept/upsert', { records: [{ id: 'a', values: [1, 0] }] });
  expect(upsert).toMatchObject({ status: 200, body: { upsertedCount: 1, anchor: { status: 'confirmed' } } });
});

test('after a SIGKILL nothing of it runs on, and a start on the folder finds what was acknowledged', async () => {
  const group = service.pid;
  expect((await runningIn(group)).length).toBe(2);
  expect(await service.kill('SIGKILL')).toEqual({ code: null, signal: 'SIGKILL' });
  await eventually(async () => (await runningIn(group)).length === 0);
  await service.restart();
  const verified = await service.api('GET', '/collections/kept/verify');
  await invariant('what was acknowledged outlives SIGKILL', () =>
    expect(verified).toMatchObject({ status: 200, body: { verified: true, state: 'match', vectorCount: 1 } }),
  );
});
