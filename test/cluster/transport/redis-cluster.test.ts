import { afterAll, beforeAll } from '@jest/globals';
import { type RedisServer, startRedis } from '../../support/redis-server.ts';
import { stayingNodes } from './staying-nodes.ts';

let redis: RedisServer;
beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis.dispose());

stayingNodes(() => ({ kind: 'redis', url: redis.url }));
