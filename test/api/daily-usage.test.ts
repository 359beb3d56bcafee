import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { UsageDayView, UsageReport } from '../../contracts/actions/metering.ts';
import { SYSTEM_CLOCK } from '../../lib/time/clock.ts';
import { apiClient } from '../support/api-client.ts';
import { refusal, refusalOf } from '../support/refusal.ts';
import { startService, type TestService } from '../support/service.ts';
import { until } from '../support/until.ts';

const NOON = Date.parse('2026-03-14T12:00:00Z');
const DAY_MS = 86_400_000;

let service: TestService;
let shiftMs = NOON - SYSTEM_CLOCK.wallMs();
beforeAll(async () => {
  const clock = { wallMs: () => SYSTEM_CLOCK.wallMs() + shiftMs, monotonicMs: () => SYSTEM_CLOCK.monotonicMs() };
  service = await startService({}, { clock });
  await service.api('POST', '/collections', { name: 'notes', dimensions: 2 });
});
afterAll(() => service.stop());

const daily = async (search = '') =>
  (await service.api<{ days: UsageDayView[] }>('GET', `/usage/daily${search}`)).body.days;
const upsert = (...ids: string[]) =>
  service.api('POST', '/collections/notes/upsert', { records: ids.map((id) => ({ id, values: [1, 0] })) });
const query = () => service.api('POST', '/collections/notes/query', { vector: [1, 0] });

test('counts writes and queries for their days, and the days of a month sum up to it', async () => {
  await upsert('a', 'b');
  for (let count = 0; count < 3; count++) await query();
  await until('the queries are counted', async () => (await daily('?days=1'))[0]!.query_count === 3);
  shiftMs += 2 * DAY_MS;
  await upsert('a', 'c', 'd');
  await query();
  await until('the query is counted', async () => (await daily('?days=1'))[0]!.query_count === 1);
  expect(await daily('?days=4')).toEqual([
    { day: '2026-03-13', write_count: 0, query_count: 0 },
    { day: '2026-03-14', write_count: 2, query_count: 3 },
    { day: '2026-03-15', write_count: 0, query_count: 0 },
    { day: '2026-03-16', write_count: 3, query_count: 1 },
  ]);
  const all = await daily('?days=400');
  expect([all.length, all[0]!.day, (await daily()).length]).toEqual([400, '2025-02-10', 30]);
  const { body } = await service.api<UsageReport>('GET', '/usage');
  expect(body.usage).toMatchObject({ write_count: 5, query_count: 4 });
  await service.restart();
  expect(await daily('?days=400')).toEqual(all);
});

test('names what is wrong, and needs the scope read', async () => {
  for (const days of ['0', '401', '-1', '1.5', 'all', ''])
    expect(await service.api('GET', `/usage/daily?days=${days}`)).toEqual(refusalOf('days'));
  expect(await service.api('GET', '/usage/daily?months=1')).toEqual(refusalOf('months'));
  const { body } = await service.api<{ key: { secret: string } }>('POST', '/keys', { name: 'w', scopes: ['write'] });
  expect(await apiClient(service, body.key.secret)('GET', '/usage/daily')).toEqual(refusal(403, 'FORBIDDEN'));
});
