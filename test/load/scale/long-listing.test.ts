import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { call } from '../../../contracts/actions/call.ts';
import { expectDurationBelow } from '../../support/duration.ts';
import { isThorough } from '../../support/effort.ts';
import { startService, type TestService } from '../../support/service.ts';

const RECORDS = Number(process.env.PROVEC_TEST_RECORDS ?? (isThorough ? 1_000_000 : 20_000));
const BATCH = 1_000;
const IN_FLIGHT = 4;
const PAGES = 200;
const PAGE_MAX_MS = 100;
/** Bound for chunks that are at least a quarter full on average. */
const ORDER_MAX_BYTES = 18;

/** Far longer than needed on a slow machine; only a hanging test reaches it. */
jest.setTimeout(1_800_000);

/** Each id once, in no order; many share a prefix. */
const idOf = (at: number) => `customer-${(at * 7_919) % RECORDS}-of-${RECORDS}`;
/** All nines: the last id in order. */
const LAST_ID = `customer-${10 ** Math.floor(Math.log10(RECORDS)) - 1}-of-${RECORDS}`;
const recordOf = (at: number) => ({
  id: idOf(at),
  values: [1, at],
  metadata: { ...(at % 1_000 === 0 && { rare: true }), ...(idOf(at) === LAST_ID && { last: true }) },
});

let service: TestService;
beforeAll(async () => {
  service = await startService({
    PROVEC_LEDGER: 'off',
    PROVEC_RATE_LIMIT_PER_SECOND: '0',
    PROVEC_BOOTSTRAP_PLAN: 'enterprise',
  });
  await service.api('POST', '/collections', { name: 'listed', dimensions: 2, shards: 1 });
  let next = 0;
  const lane = async () => {
    for (let from = next; from < RECORDS; from = next) {
      next += BATCH;
      const records = Array.from({ length: Math.min(BATCH, RECORDS - from) }, (_, at) => recordOf(from + at));
      expect((await service.api('POST', '/collections/listed/upsert', { records })).status).toBe(200);
    }
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, lane));
});
afterAll(() => service?.stop());

interface ListPage {
  records: { id: string }[];
  nextCursor?: string;
}
async function timed(body: object): Promise<{ page: ListPage; ms: number }> {
  const startMs = performance.now();
  const { status, body: page } = await service.api<ListPage>('POST', '/collections/listed/list', body);
  const ms = performance.now() - startMs;
  expect([status, page]).toMatchObject([200, {}]);
  return { page, ms };
}
const shardBytes = async () => (await call(service.provec.broker, 'shards.stats', {})).bytes;
const rss = () => Math.round(process.memoryUsage().rss / 2 ** 20);

/** Memory after background work has ended, so that only the listing counts. */
async function settledBytes(): Promise<number> {
  for (let before = -1; ; ) {
    const bytes = await shardBytes();
    if (bytes === before) return bytes;
    before = bytes;
    await new Promise((resolve) => setTimeout(resolve, 3_000));
  }
}

test(`of ${RECORDS} records in one shard, a page with a prefix arrives in under ${PAGE_MAX_MS} ms`, async () => {
  const before = await settledBytes();
  const beforeRss = rss();
  const first = await timed({ prefix: 'customer-1', limit: 100 });
  const after = await settledBytes();
  const perRecord = (after - before) / RECORDS;
  console.log(
    `first listing ${first.ms.toFixed(0)} ms; the shard ${before} bytes before it, ${after} after: ` +
      `${perRecord.toFixed(1)} bytes a record; process ${beforeRss} MiB before it, ${rss()} MiB after`,
  );
  expect(perRecord).toBeLessThanOrEqual(ORDER_MAX_BYTES);

  const pages: number[] = [];
  for (let at = 0; at < PAGES; at++) {
    const number = (at * 9_973) % RECORDS;
    const { page, ms } = await timed({ prefix: `customer-${number}`, limit: 100 });
    expect(page.records.map(({ id }) => id)).toContain(`customer-${number}-of-${RECORDS}`);
    pages.push(ms);
  }
  pages.sort((a, b) => a - b);
  console.log(
    `a page with a prefix: median ${pages[PAGES / 2]!.toFixed(1)} ms, longest ${pages.at(-1)!.toFixed(1)} ms`,
  );
  expectDurationBelow(pages.at(-1)!, PAGE_MAX_MS);
});

test('all are listed once, even with a filter that few records match', async () => {
  const list = async (body: object) => {
    const [ids, longest] = [[] as string[], { ms: 0 }];
    for (let cursor: string | undefined; ; ) {
      const { page, ms } = await timed({ ...body, limit: 1_000, ...(cursor !== undefined && { cursor }) });
      for (const { id } of page.records) ids.push(id);
      longest.ms = Math.max(longest.ms, ms);
      cursor = page.nextCursor;
      if (cursor === undefined) return { ids, longestMs: longest.ms };
    }
  };
  const numbers = Array.from({ length: RECORDS }, (_, at) => at);
  const all = await list({});
  expect(all.ids.length).toBe(RECORDS);
  expect(all.ids.every((id, at) => at === 0 || all.ids[at - 1]! < id)).toBe(true);
  const rare = await list({ filter: { rare: true } });
  expect(rare.ids).toEqual(
    numbers
      .filter((at) => at % 1_000 === 0)
      .map(idOf)
      .sort(),
  );
  const last = { records: [{ id: LAST_ID }] };
  const first = await timed({ filter: { last: true } });
  const again = await timed({ filter: { last: true } });
  expect([first.page, again.page]).toEqual([last, last]);
  console.log(
    `1,000 to a page: longest ${all.longestMs.toFixed(1)} ms, with a filter ${rare.longestMs.toFixed(1)} ms; ` +
      `the last record by a filter: ${first.ms.toFixed(1)} ms, again ${again.ms.toFixed(1)} ms`,
  );
});
