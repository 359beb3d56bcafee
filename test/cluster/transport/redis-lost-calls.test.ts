import { type RedisServer, startRedis } from '../../support/redis-server.ts';
import { lostCalls } from './lost-calls.ts';

let redis: RedisServer;

lostCalls(
  async () => {
    redis = await startRedis();
    return { kind: 'redis', url: redis.url };
  },
  () => redis.dispose(),
);
