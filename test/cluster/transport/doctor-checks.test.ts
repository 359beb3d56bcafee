/** What `provec doctor` makes of a real Redis, and of a server of MongoDB's protocol. */
import { afterEach, describe, expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import { mongoFinding } from '../../../cli/doctor/mongo.ts';
import { redisFindings } from '../../../cli/doctor/redis.ts';
import { anyMongoServer, isMongoThere, type MongoServer } from '../../support/mongo-server.ts';
import { type RedisServer, startRedis } from '../../support/redis-server.ts';

const BUFFERS = 'pubsub 268435456 134217728 60';
const SECRET = 'a-password-of-the-tests';

describe('Redis', () => {
  let server: RedisServer;
  afterEach(() => server.dispose());

  test('is as Provec needs it, then is set in every other way', async () => {
    server = await startRedis('--client-output-buffer-limit', ...BUFFERS.split(' '));
    expect(await redisFindings(server.url)).toMatchObject([{ check: 'redis', status: 'ok' }]);
    const redis = new Redis(server.url);
    await redis.set('of another program', '1');
    await redis.config('SET', 'appendonly', 'yes');
    await redis.config('SET', 'maxmemory', '104857600');
    await redis.config('SET', 'maxmemory-policy', 'allkeys-lru');
    await redis.config('SET', 'client-output-buffer-limit', 'pubsub 33554432 8388608 60');
    const findings = await redisFindings(server.url);
    redis.disconnect();
    expect(findings.map(({ status }) => status)).toEqual(Array(4).fill('warning'));
    const text = JSON.stringify(findings);
    for (const part of ['appendonly no', '256mb 128mb 60', 'allkeys-lru', '1 keys']) expect(text).toContain(part);
  });

  test('does not let CONFIG through, wants a password, or is gone: no finding has the password', async () => {
    server = await startRedis('--rename-command', 'CONFIG', '', '--requirepass', SECRET);
    const own = new URL(server.url);
    own.password = SECRET;
    expect(await redisFindings(own.href)).toMatchObject([{ status: 'unknown' }]);
    own.password = `not ${SECRET}`;
    const wrong = await redisFindings(own.href);
    await server.kill();
    const gone = await redisFindings(own.href);
    for (const findings of [wrong, gone]) {
      expect(findings).toMatchObject([{ status: 'problem', message: expect.stringContaining('PROVEC_REDIS_URL') }]);
      expect(JSON.stringify(findings)).not.toContain(SECRET);
    }
  });
});

const startMongo = await anyMongoServer();
(isMongoThere(startMongo) ? describe : describe.skip)('MongoDB', () => {
  let server: MongoServer;
  afterEach(() => server.end());

  test('that is no replica set, or gone, is a problem that repeats no password', async () => {
    server = await startMongo!();
    const found = await mongoFinding(server.url);
    // A server that PROVEC_TEST_MONGO_URL names may be a replica set.
    expect(found).toMatchObject({ check: 'mongodb' });
    if (!process.env.PROVEC_TEST_MONGO_URL)
      expect(found).toMatchObject({ status: 'problem', message: expect.stringContaining('not a replica set') });
    const gone = await mongoFinding(`mongodb://user:${SECRET}@127.0.0.1:1/provec`);
    expect(gone).toMatchObject({ status: 'problem', message: expect.stringContaining('PROVEC_MONGO_URL') });
    expect(JSON.stringify(gone)).not.toContain(SECRET);
  });
});
