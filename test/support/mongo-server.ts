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
 * A script `mongo PORT FILE` that serves MongoDB's protocol on 127.0.0.1 and prints its URL on its
 * first line.
 */
const SCRIPT = resolve(import.meta.dirname, '../../../shared/test-servers/mongo');
/** The first start may include building the server. */
const START_MAX_MS = 180_000;

export interface MongoServer {
  /** URL without a database name. */
  url: string;
  end(): Promise<void>;
}

/** A server that tests may damage. Its data survives kills, on the same port. */
export interface MortalMongoServer extends MongoServer {
  /** Sends SIGKILL; resolves when the server is gone. */
  kill(): Promise<void>;
  /** Sends SIGSTOP; resolves when the whole process group is stopped. `thaw` sends SIGCONT. */
  freeze(): Promise<void>;
  thaw(): void;
  /** Starts the server again after `kill`. */
  restart(): Promise<void>;
}

/** Returns a function that starts a server for the adapter's tests; null when none is available. */
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

/** Adds a new database name to a server's URL. */
export function ownDatabase(url: string): string {
  const at = new URL(url);
  at.pathname = `/provec-test-${randomUUID()}`;
  return at.href;
}

/**
 * Prints that tests are skipped for lack of a server; throws when PROVEC_TEST_REQUIRE (a list of
 * words) demands them. Returns whether there is a server.
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

/** Without a file, the data ends with the process. */
async function start(file?: string, port = 0) {
  const child = spawn(SCRIPT, [String(port), ...(file === undefined ? [] : [file])], {
    // A process group of its own, so that no part of the server outlives the tests.
    detached: true,
    stdio: ['ignore', 'pipe', 'inherit'],
    // The server is too short-lived for the optimizing compiler to pay off.
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
