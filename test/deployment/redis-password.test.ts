import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { ServiceBroker } from 'moleculer';
import { pino } from 'pino';
import { Metrics } from '../../mixins/metrics.ts';
import { brokerOptions } from '../../moleculer.config.ts';
import { readConfig } from '../../process/config.ts';
import { TRANSPORT_LIMITS } from '../../transport/transport-limits.ts';
import { freePorts } from '../support/free-ports.ts';
import { TEST_TRANSPORT_KEYS } from '../support/store-keys.ts';
import { until } from '../support/until.ts';
import { argumentsOf, composeServices } from './compose.ts';
import { parseManifests, readText, workloadsOf } from './manifest.ts';
import { inFolder, makeSecrets } from './secrets-service.ts';

const [pod] = workloadsOf(parseManifests(readText('k8s/overlays/laptop/redis.yaml')));
const [container] = pod!.spec.template.spec.containers;
const { command, healthcheck } = composeServices.redis!;
const SERVERS = [
  ['compose', argumentsOf(command), argumentsOf(healthcheck!.test.slice(1))],
  ['the laptop overlay', container!.command!, container!.readinessProbe!.exec!.command],
] as const;

let folder: string;
let port: number;
let server: ChildProcess | null = null;
let nodes: ServiceBroker[] = [];
process.on('exit', () => server?.kill('SIGKILL'));
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'provec-redis-password-'));
  await makeSecrets(folder);
  [port] = (await freePorts(1)) as [number];
});
afterEach(async () => {
  await Promise.all(nodes.map((node) => node.stop()));
  nodes = [];
  if (server !== null && server.exitCode === null && server.signalCode === null) {
    server.kill('SIGKILL');
    await once(server, 'exit');
  }
  server = null;
  await rm(folder, { recursive: true });
});

/** A container's text with this test's folder instead of its own, and a free port. */
const here = (text: string): string =>
  inFolder(folder, text)
    .replaceAll('/tmp/redis.conf', `${folder}/redis.conf`)
    .replace('redis-cli ', `redis-cli -p ${port} `)
    .replace(' --save', ` --bind 127.0.0.1 --port ${port} --save`);

/** Resolves with null once the server answers, or with its output when it has exited. */
async function start([program, ...args]: readonly string[]): Promise<string | null> {
  server = spawn(program!, args.map(here), { stdio: ['ignore', 'pipe', 'pipe'] });
  let said = '';
  for (const stream of [server.stdout!, server.stderr!])
    stream.setEncoding('utf8').on('data', (text) => (said += text));
  let hasEnded = false;
  server.once('close', () => (hasEnded = true));
  await until('Redis answers or has ended', () => hasEnded || said.includes('Ready to accept connections'));
  return hasEnded ? said : null;
}

async function isHealthy([program, ...args]: readonly string[]): Promise<boolean> {
  const run = execFile(program!, args.map(here));
  const [code] = (await once(run, 'close')) as [number];
  return code === 0;
}

/** The response to a client with this password, or without one. */
async function answerTo(password?: string): Promise<string> {
  const env = { PATH: process.env.PATH, ...(password !== undefined && { REDISCLI_AUTH: password }) };
  const { stdout, stderr } = await promisify(execFile)('redis-cli', ['-p', String(port), 'ping'], { env });
  return stderr + stdout;
}

async function startNode(nodeId: string, urlFile: string): Promise<ServiceBroker> {
  const config = readConfig({ PROVEC_REDIS_URL_FILE: urlFile, PROVEC_NODE_ID: nodeId });
  const limits = { ...TRANSPORT_LIMITS, redisAtStartMaxMs: 300 };
  const log = pino({ level: 'silent' });
  const broker = new ServiceBroker(
    brokerOptions({ config, log, metrics: new Metrics(), limits, transportKeys: TEST_TRANSPORT_KEYS }),
  );
  broker.createService({ name: nodeId, actions: { hello: () => nodeId } });
  nodes.push(broker);
  await broker.start();
  return broker;
}

describe.each(SERVERS)('Redis of %s', (_, started, health) => {
  test('answers no one without its password, which only its own user can read', async () => {
    expect(await start(started)).toBeNull();
    const password = await readFile(join(folder, 'stores/redis-password'), 'utf8');
    expect(await answerTo()).toMatch(/^NOAUTH /);
    expect(await answerTo('a wrong one')).toMatch(/WRONGPASS .*\nNOAUTH /s);
    expect(await answerTo(password)).toBe('PONG\n');
    expect((await stat(join(folder, 'redis.conf'))).mode & 0o777).toBe(0o600);
  });

  test('its health check passes only with its password', async () => {
    expect(await isHealthy(health)).toBe(false);
    expect(await start(started)).toBeNull();
    expect(await isHealthy(health)).toBe(true);
    await writeFile(join(folder, 'stores/redis-password'), 'a wrong one');
    expect(await isHealthy(health)).toBe(false);
    await rm(join(folder, 'stores/redis-password'));
    expect(await isHealthy(health)).toBe(false);
  });

  test('does not start without a password', async () => {
    await writeFile(join(folder, 'stores/redis-password'), '');
    expect(await start(started)).toMatch(/requirepass/);
    await rm(join(folder, 'stores/redis-password'));
    expect(await start(started)).toMatch(/No such file/);
  });

  test('carries calls of nodes that have its URL, and of no others', async () => {
    expect(await start(started)).toBeNull();
    const url = await readFile(join(folder, 'provec/redis-url'), 'utf8');
    const [right, wrong] = [join(folder, 'right'), join(folder, 'wrong')];
    await writeFile(right, url.replace('redis:6379', `127.0.0.1:${port}`));
    await writeFile(wrong, `redis://:a-wrong-one@127.0.0.1:${port}`);
    await expect(startNode('stranger', wrong)).rejects.toThrow('cannot be reached');
    const one = await startNode('one', right);
    await startNode('two', right);
    await one.waitForServices('two');
    expect(await one.call('two.hello')).toBe('two');
  });
});
