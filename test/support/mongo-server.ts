import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { isHalted, signalIfThere } from './process-group.ts';
import { until } from './until.ts';

/**
 * A script `mongo PORT FILE` that serves MongoDB's protocol on 127.0.0.1 and says its URL in its
 * first line.
 */
const SCRIPT = resolve(import.meta.dirname, '../../../shared/test-servers/mongo');
/** Building it may be part of its first start. */
const START_MAX_MS = 180_000;

export interface MongoServer {
  /** Without a database. */
  url: string;
  end(): Promise<void>;
}

/** A server that tests may treat badly; its data outlive its death, on the same port. */
export interface MortalMongoServer extends MongoServer {
  /** SIGKILL; resolves when it is gone. */
  kill(): Promise<void>;
  /** SIGSTOP, until all of it stands still, and SIGCONT. */
  freeze(): Promise<void>;
  thaw(): void;
  /** After `kill`. */
  restart(): Promise<void>;
}

/** Where the tests of the adapter find a server; null where there is none. */
export async function anyMongoServer(): Promise<(() => Promise<MongoServer>) | null> {
  const given = process.env.PROVEC_TEST_MONGO_URL;
  if (given) return async () => ({ url: given, end: async () => undefined });
  if (existsSync(SCRIPT)) return () => start();
  const name = 'mongodb-memory-server';
  const installed = (await import(name).catch(() => null)) as {
    MongoMemoryServer: { create(): Promise<{ getUri(): string; stop(): Promise<unknown> }> };
  } | null;
  if (installed === null) return null;
  return async () => {
    const server = await installed.MongoMemoryServer.create();
    return { url: server.getUri(), end: async () => void (await server.stop()) };
  };
}

/** Whether `ownMongoServer` can be used. */
export const hasOwnMongoServer = existsSync(SCRIPT);

/** A URL of a database of its own on a server. */
export function ownDatabase(url: string): string {
  const at = new URL(url);
  at.pathname = `/provec-test-${randomUUID()}`;
  return at.href;
}

/**
 * Says aloud that tests are left out for want of a server, and fails where PROVEC_TEST_REQUIRE (a
 * list of words) demands them. Returns whether there is one.
 */
export function isMongoThere(server: unknown): boolean {
  if (server) return true;
  if (process.env.PROVEC_TEST_REQUIRE?.split(/[\s,]+/).includes('mongo'))
    throw new Error(
      'PROVEC_TEST_REQUIRE demands the tests with MongoDB, but there is no server: set PROVEC_TEST_MONGO_URL.',
    );
  process.stderr.write(
    '\n*** SKIPPED: no MongoDB for these tests; set PROVEC_TEST_MONGO_URL or install mongodb-memory-server ***\n\n',
  );
  return false;
}

export async function ownMongoServer(): Promise<MortalMongoServer> {
  const folder = await mkdtemp(join(tmpdir(), 'provec-mongo-'));
  const file = join(folder, 'data');
  let server = await start(file);
  const { url } = server;
  const port = Number(new URL(url).port);
  return {
    url,
    kill: () => server.end(),
    freeze: () => server.freeze(),
    thaw: () => server.signal('SIGCONT'),
    async restart() {
      server = await start(file, port);
    },
    async end() {
      await server.end();
      await rm(folder, { recursive: true });
    },
  };
}

/** Without a file the data end with the process. */
async function start(file?: string, port = 0) {
  const child = spawn(SCRIPT, [String(port), ...(file === undefined ? [] : [file])], {
    // A group of its own, so that nothing of it outlives the tests.
    detached: true,
    stdio: ['ignore', 'pipe', 'inherit'],
    // It does not live long enough for the better compiler to pay.
    env: { JAVA_TOOL_OPTIONS: '-XX:TieredStopAtLevel=1 -XX:+UseSerialGC', ...process.env },
  });
  const closed = once(child, 'close');
  const signal = (name: NodeJS.Signals): void => signalIfThere(-child.pid!, name);
  const end = async (): Promise<void> => {
    signal('SIGKILL');
    await closed;
  };
  const freeze = async (): Promise<void> => {
    signal('SIGSTOP');
    await until('the server stands still', () => isHalted(child.pid!)).catch((error: unknown) => {
      signal('SIGCONT');
      throw error;
    });
  };
  const timer = setTimeout(() => signal('SIGKILL'), START_MAX_MS);
  const said = await Promise.race([once(child.stdout, 'data'), closed.then(() => null)]);
  clearTimeout(timer);
  if (said === null) throw new Error('The test server for MongoDB ended before it said its URL.');
  return { url: /mongodb:\S+/.exec(String(said[0]))![0], signal, freeze, end };
}
