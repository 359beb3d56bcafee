/** A store that cannot grow: SQLite refuses a page beyond `max_page_count` just as it does one that the disk has no room for. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { VerifyResult } from '../../lib/actions/verification.ts';
import type { Overrides } from '../../provec.ts';
import { invariant } from '../support/invariant.ts';
import { startService, type TestService } from '../support/service.ts';
import { until } from '../support/until.ts';

const MAX_PAGES = 600;
const RECORDS_PER_WRITE = 500;
const WRITES_MAX = 100;

const overrides: Overrides = { storeMaxPages: MAX_PAGES };
let service: TestService;
/** Ids of what was acknowledged. */
const stored = new Set<string>();
let writes = 0;

beforeAll(async () => {
  service = await startService({ PROVEC_LOG_LEVEL: 'silent', PROVEC_ANCHOR_WAIT_MS: '0' }, overrides);
  await service.api('POST', '/collections', { name: 'c', dimensions: 64 });
});
afterAll(() => service.stop());

async function upsert() {
  const number = writes++;
  const records = Array.from({ length: RECORDS_PER_WRITE }, (_, i) => ({
    id: `${number}/${i}`,
    values: Array.from({ length: 64 }, (_, d) => ((number + i * 7 + d) % 9) + 1),
  }));
  const answer = await service.api<{ code?: string }>('POST', '/collections/c/upsert', { records });
  if (answer.status === 200) for (const { id } of records) stored.add(id);
  return answer;
}

async function expectExactlyStored(): Promise<void> {
  const ids = Array.from({ length: writes }, (_, number) => [
    `${number}/0`,
    `${number}/${RECORDS_PER_WRITE - 1}`,
  ]).flat();
  const { body } = await service.api<{ vectors: object }>('POST', '/collections/c/fetch', { ids });
  expect(Object.keys(body.vectors).sort()).toEqual(ids.filter((id) => stored.has(id)).sort());
}

test('an upsert is refused with 507, reads go on, and nothing that was acknowledged is lost', () =>
  invariant('a full disk loses nothing', async () => {
    let refused = await upsert();
    while (refused.status === 200 && writes < WRITES_MAX) refused = await upsert();
    expect(refused).toMatchObject({ status: 507, body: { code: 'OUT_OF_CAPACITY' } });
    expect(stored.size).toBeGreaterThan(0);
    expect((await upsert()).status).toBe(507);
    await expectExactlyStored();
    const query = await service.api<{ matches: unknown[] }>('POST', '/collections/c/query', {
      vector: new Array(64).fill(1),
      topK: 10,
    });
    expect(query).toMatchObject({ status: 200 });
    expect(query.body.matches).toHaveLength(10);

    delete overrides.storeMaxPages;
    await service.restart();
    await expectExactlyStored();
    expect((await upsert()).status).toBe(200);
    await expectExactlyStored();
    const verify = async () => (await service.api<VerifyResult>('GET', '/collections/c/verify')).body;
    await until('it is anchored', async () => (await verify()).state !== 'pending');
    expect(await verify()).toMatchObject({ state: 'match', vectorCount: stored.size });
  }));
