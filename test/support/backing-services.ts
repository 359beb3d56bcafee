import { spawnSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openMongoStore } from '../../lib/store/mongo/store.ts';
import type { Store } from '../../lib/store/port.ts';
import { openSqliteStore } from '../../lib/store/sqlite/store.ts';
import {
  anyMongoServer,
  hasOwnMongoServer,
  type MortalMongoServer,
  ownDatabase,
  ownMongoServer,
} from './mongo-server.ts';
import { type RedisServer, startRedis } from './redis-server.ts';
import { ONLOOKER_KEYS, TEST_SECRET } from './store-keys.ts';

/** What a cluster stands on: a store, and what carries calls between its nodes. */
export interface BackingServices {
  readonly name: string;
  readonly dataDir: string;
  /** Of every node. */
  readonly environment: Record<string, string>;
  /** Null where they are not used, or are not the test's own to maltreat. */
  readonly mongo: MortalMongoServer | null;
  readonly redis: RedisServer | null;
  /** The nodes' store, for a look from outside. */
  openStore(): Promise<Store>;
  end(): Promise<void>;
}

export type Backing = 'SQLite + TCP' | 'MongoDB + Redis';

const { PROVEC_TEST_MONGO_URL: mongoUrl, PROVEC_TEST_REDIS_URL: redisUrl } = process.env;
const hasOwnRedis = spawnSync('redis-server', ['--version']).status === 0;

/**
 * MongoDB servers to end with this process, however it ends; on a signal as well, since what
 * listens to exits is told of those that are asked for alone.
 */
const servers = new Set<MortalMongoServer>();
process.on('exit', () => {
  // The signal is sent before the first wait.
  for (const server of servers) void server.kill();
});
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.once(signal, () => process.exit(1));

/**
 * MongoDB with Redis where both can be had; else, aloud, the embedded store with TCP. Throws where
 * PROVEC_TEST_REQUIRE demands what is not there.
 */
export async function bestBacking(): Promise<Backing> {
  const missing = [...((await anyMongoServer()) ? [] : ['mongo']), ...(redisUrl || hasOwnRedis ? [] : ['redis'])];
  if (missing.length === 0) return 'MongoDB + Redis';
  const demanded = missing.filter((name) => process.env.PROVEC_TEST_REQUIRE?.split(/[\s,]+/).includes(name));
  if (demanded.length > 0) throw new Error(`PROVEC_TEST_REQUIRE demands ${demanded.join(' and ')}: there is none.`);
  process.stderr.write(`\n!!! No ${missing.join(' and no ')}: the cluster is tested on SQLite + TCP instead. !!!\n\n`);
  return 'SQLite + TCP';
}

/**
 * Servers that are given by a URL serve many tests at once: with `isOwn` others are started, which
 * may be treated badly.
 */
export async function startBacking(backing: Backing, isOwn = false): Promise<BackingServices> {
  const dataDir = await mkdtemp(join(tmpdir(), 'provec-cluster-'));
  const removeData = () => rm(dataDir, { recursive: true, force: true });
  if (backing === 'SQLite + TCP') {
    return {
      name: backing,
      dataDir,
      environment: { PROVEC_DATA_DIR: dataDir, PROVEC_TRANSPORTER: 'TCP', PROVEC_SECRET: TEST_SECRET },
      mongo: null,
      redis: null,
      openStore: () => openSqliteStore(dataDir, { keys: ONLOOKER_KEYS }),
      end: removeData,
    };
  }
  const redis = redisUrl && !isOwn ? null : await startRedis();
  const mortal = hasOwnMongoServer && (!mongoUrl || isOwn);
  const mongo = mortal ? await ownMongoServer() : await (await anyMongoServer())!();
  if (mortal) servers.add(mongo as MortalMongoServer);
  const url = ownDatabase(mongo.url);
  return {
    name: backing,
    dataDir,
    environment: {
      PROVEC_DATA_DIR: dataDir,
      PROVEC_SECRET: TEST_SECRET,
      PROVEC_MONGO_URL: url,
      PROVEC_REDIS_URL: redis?.url ?? redisUrl!,
    },
    mongo: mortal ? (mongo as MortalMongoServer) : null,
    redis,
    openStore: () => openMongoStore({ keys: ONLOOKER_KEYS, url, folder: join(dataDir, 'looking-on') }),
    async end() {
      await redis?.dispose();
      await mongo.end();
      servers.delete(mongo as MortalMongoServer);
      await removeData();
    },
  };
}
