import { spawnSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openMongoStore } from '../../store/mongo/store.ts';
import type { Store } from '../../store/port.ts';
import { openSqliteStore } from '../../store/sqlite/store.ts';
import {
  anyMongoServer,
  hasOwnMongoServer,
  type MortalMongoServer,
  ownDatabase,
  ownMongoServer,
} from './mongo-server.ts';
import { type RedisServer, startRedis } from './redis-server.ts';
import { ONLOOKER_KEYS, TEST_SECRET } from './store-keys.ts';

/** The store of a cluster, and the transport between its nodes. */
export interface BackingServices {
  readonly name: string;
  readonly dataDir: string;
  /** Environment of every node. */
  readonly environment: Record<string, string>;
  /** Null when unused, or when the server is shared and the test must not damage it. */
  readonly mongo: MortalMongoServer | null;
  readonly redis: RedisServer | null;
  /** Opens the nodes' store to inspect it from outside. */
  openStore(): Promise<Store>;
  end(): Promise<void>;
}

export type Backing = 'SQLite + TCP' | 'MongoDB + Redis';

const { PROVEC_TEST_MONGO_URL: mongoUrl, PROVEC_TEST_REDIS_URL: redisUrl } = process.env;
const hasOwnRedis = spawnSync('redis-server', ['--version']).status === 0;

/**
 * MongoDB servers to kill when this process ends, also when a signal ends it: without a handler, a
 * signal would skip the exit listeners.
 */
const servers = new Set<MortalMongoServer>();
process.on('exit', () => {
  // `kill` sends its signal before it first waits, so it works in an exit listener.
  for (const server of servers) void server.kill();
});
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.once(signal, () => process.exit(1));

/**
 * Returns MongoDB with Redis when both are available, else prints a note and returns the embedded
 * store with TCP. Throws when PROVEC_TEST_REQUIRE demands something that is missing.
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
 * Starts the services of a backing. Many tests share servers given by a URL; `isOwn` starts
 * separate ones, which a test may damage.
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

/**
 * Starts a shared folder for a cluster whose nodes talk over this Redis, which stays the caller's.
 */
export async function startFolder({ url }: RedisServer): Promise<BackingServices> {
  const folder = await startBacking('SQLite + TCP');
  const environment = { PROVEC_DATA_DIR: folder.dataDir, PROVEC_REDIS_URL: url, PROVEC_SECRET: TEST_SECRET };
  return { ...folder, name: 'SQLite + Redis', environment };
}
