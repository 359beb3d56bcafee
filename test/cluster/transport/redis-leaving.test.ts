import { afterAll, beforeAll } from '@jest/globals';
import { type RedisServer, startRedis } from '../../support/redis-server.ts';
import { leavingNodes } from './leaving-nodes.ts';

let redis: RedisServer;
beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis.dispose());

leavingNodes(() => ({ kind: 'redis', url: redis.url }));
