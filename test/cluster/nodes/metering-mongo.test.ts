import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { SYSTEM_CLOCK as clock } from '../../../lib/time/clock.ts';
import { monthOf } from '../../../lib/time/month.ts';
import type { Allowance } from '../../../services/metering/allowance.ts';
import { QueryQuota } from '../../../services/metering/query-quota.ts';
import { WriteQuota } from '../../../services/metering/write-quota.ts';
import type { Store } from '../../../store/port.ts';
import { commitTally } from '../../support/accounts.ts';
import { writeRequestFor } from '../../support/metered-account.ts';
import { anyMongoServer, isMongoThere } from '../../support/mongo-server.ts';
import { type MongoDatabase, mongoDatabase } from '../../unit/store/mongo/database.ts';

const start = await anyMongoServer();
const INSTANCES = 3;
const LIMITS = {
  queries: 150,
  writes: 60,
  vectors: 40,
  collections: null,
  keys: 10_000,
  shards: null,
  anchoring: false,
};
const ALLOWANCE: Allowance = { plan: 'free', limits: LIMITS };
const month = monthOf(clock.wallMs());

if (isMongoThere(start)) {
  let database: MongoDatabase;
  const stores: Store[] = [];
  beforeAll(async () => {
    database = await mongoDatabase(await start!());
    // A separate connection for each instance.
    for (let at = 0; at < INSTANCES; at++) stores.push(await database.open());
  }, 200_000);
  afterAll(async () => {
    await database.end();
  });

  async function outcomeOf(promise: Promise<unknown>): Promise<string> {
    return promise.then(
      () => 'passed',
      (error: Error & { code?: string }) => error.code ?? error.message,
    );
  }

  test('MongoDB: instances under load accept exactly as many queries as the plan allows', async () => {
    const accountId = randomUUID();
    const quotas: QueryQuota[] = [];
    for (const { usage } of stores) {
      const recall = async () => void (await Promise.all(quotas.map((quota) => quota.yield(accountId))));
      // Each instance considers itself responsible.
      const charge = { node: randomUUID(), isOurs: () => true, recall };
      quotas.push(new QueryQuota({ usage, clock, pricingUrl: '', ...charge }));
    }
    let passed = 0;
    const client = async (quota: QueryQuota): Promise<void> => {
      for (;;) {
        const outcome = await outcomeOf(quota.take(accountId, ALLOWANCE));
        if (outcome === 'PLAN_LIMIT_REACHED') return;
        expect(outcome).toBe('passed');
        passed++;
      }
    };
    const clients = Promise.all(quotas.flatMap((quota) => [client(quota), client(quota), client(quota)]));
    while (passed < LIMITS.queries) {
      const before = passed;
      const { row, uncertain } = await quotas[before % INSTANCES].read(accountId);
      expect(row.queries).toBeGreaterThanOrEqual(before);
      expect(row.queries - uncertain).toBeLessThanOrEqual(passed + 3 * INSTANCES);
    }
    await clients;
    expect(passed).toBe(LIMITS.queries);
    for (const quota of quotas) await quota.close();
    expect(await stores[0].usage.readQueries(accountId, month)).toEqual({ queries: LIMITS.queries, blocks: [] });
  });

  test('MongoDB: writers at all instances fill vectors and writes exactly to the limit', async () => {
    const accountId = randomUUID();
    const quotas: WriteQuota[] = [];
    for (const { usage } of stores) quotas.push(new WriteQuota({ usage, clock, pricingUrl: '', isAlone: false }));
    const sweeping = setInterval(() => {
      for (const quota of quotas) quota.sweep();
    }, 20);
    let calls = 0;
    const any = () => quotas[calls++ % INSTANCES];
    const write = async (vectors: number): Promise<void> => {
      let answer = await any().reserve(accountId, writeRequestFor({ writes: 1, vectors: 1 }, ALLOWANCE));
      if (answer.outcome === 'count')
        answer = await any().reserve(accountId, writeRequestFor({ writes: 1, vectors }, ALLOWANCE, answer.ticket));
      if (answer.outcome !== 'reserved' || answer.id === null) throw new Error('counted twice');
      await commitTally(stores[calls % INSTANCES], clock, accountId, 1, vectors);
      await any().settle(accountId, answer.id);
    };
    const created = await Promise.all(Array.from({ length: 50 }, () => outcomeOf(write(1))));
    expect(created.filter((outcome) => outcome === 'passed')).toHaveLength(LIMITS.vectors);
    expect(created.filter((outcome) => outcome === 'PLAN_LIMIT_REACHED')).toHaveLength(10);
    const replaced = await Promise.all(Array.from({ length: 25 }, () => outcomeOf(write(0))));
    expect(replaced.filter((outcome) => outcome === 'passed')).toHaveLength(LIMITS.writes - LIMITS.vectors);
    clearInterval(sweeping);
    const row = await stores[0].usage.read(accountId, month);
    expect(row).toMatchObject({ writes: LIMITS.writes, vectors: LIMITS.vectors });
    expect(await stores[1].usage.readHolds(accountId)).toMatchObject({ holds: [], alone: null, line: [] });
  });
}
