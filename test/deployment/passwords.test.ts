import { Script } from 'node:vm';
import { describe, expect, test } from '@jest/globals';
import { readConfig } from '../../process/config.ts';
import { argumentsOf, composeServices } from './compose.ts';
import { instructedSecrets } from './instructed-secrets.ts';
import { type Container, type PodSpec, parseManifests, readText, readYaml, workloadsOf } from './manifest.ts';

const { resources } = readYaml<{ resources: string[] }>('k8s/overlays/laptop/kustomization.yaml');
const overlay = resources
  .filter((name) => name.endsWith('.yaml'))
  .flatMap((name) => workloadsOf(parseManifests(readText(`k8s/overlays/laptop/${name}`))));
const pods: Record<string, PodSpec> = Object.fromEntries(
  overlay.map(({ metadata, spec }) => [metadata.name.replace('provec-', ''), spec.template.spec]),
);
const containerOf = (name: string): Container => pods[name]!.containers[0]!;

/** A container's health probe command. */
const probeOf = ({ startupProbe, readinessProbe }: Container): string[] =>
  (startupProbe ?? readinessProbe)!.exec!.command;
const healthOf = (name: string): string[] => {
  const [kind, ...command] = argumentsOf(composeServices[name]!.healthcheck!.test);
  expect(kind).toBe('CMD');
  return command;
};
const commands: Record<string, string[]> = {
  'mongo of compose': [...composeServices.mongo!.command, ...healthOf('mongo')],
  'mongo of the overlay': [...containerOf('mongo').command!, ...probeOf(containerOf('mongo'))],
  'redis of compose': [...argumentsOf(composeServices.redis!.command), ...healthOf('redis')],
  'redis of the overlay': [...containerOf('redis').command!, ...probeOf(containerOf('redis'))],
};
const readBy = (command: string[]): string[] => [...new Set(command.join('\n').match(/\/run\/stores\/[\w-]+/g))].sort();

test('both laptop clusters have two servers besides Provec', () => {
  const { secrets, ...others } = composeServices;
  expect(Object.keys(others).filter((name) => !others[name]!.image.startsWith('provec'))).toEqual(['mongo', 'redis']);
  expect(Object.keys(pods)).toEqual(['mongo', 'redis']);
});

describe('MongoDB', () => {
  test('gets a key, without which it would need no password, the same way in both laptop clusters', () => {
    const { command } = composeServices.mongo!;
    expect(command.join(' ')).toContain(' --keyFile /run/stores/mongo-key ');
    const [shell, flag, script] = containerOf('mongo').command!;
    expect([shell, flag]).toEqual(['sh', '-c']);
    const [, key, started] = /^set -e\ninstall -m 400 (\S+) \/tmp\/mongo-key\nexec (.*)\n$/.exec(script!)!;
    expect(started!.replace('/tmp/mongo-key', key!)).toBe(command.join(' '));
  });

  test('its user checks its health, the same way in both laptop clusters', () => {
    const [command, probe] = [healthOf('mongo'), probeOf(containerOf('mongo'))];
    expect(command.slice(0, 3)).toEqual(['mongosh', '--quiet', '--eval']);
    expect(command.map((text) => text.replace("'mongo:27017'", "'provec-mongo:27017'"))).toEqual(probe);
    expect(() => new Script(command[3]!)).not.toThrow();
  });
});

test('Redis is started and checked the same way in both laptop clusters', () => {
  const { command } = containerOf('redis');
  expect(argumentsOf(composeServices.redis!.command)).toEqual(command);
  expect(command![2]).toContain(
    "{ printf 'requirepass '; cat /run/stores/redis-password; } > /tmp/redis.conf\nexec redis-server /tmp/redis.conf ",
  );
  expect(healthOf('redis')).toEqual(probeOf(containerOf('redis')));
});

test.each(Object.entries(commands))('%s gets its password only from a file, and on no command line', (_, command) => {
  const text = command.join('\n');
  expect(text.replace('REDISCLI_AUTH=$(cat /run/stores/redis-password) ', '')).not.toContain('$');
  expect(text).not.toMatch(/\s(-a|-p|--pass|--password|--requirepass)\b/);
});

describe('the files that a server reads', () => {
  test.each(['mongo', 'redis'])('%s of compose gets them once they are created, and cannot write them', (name) => {
    const { volumes, depends_on } = composeServices[name]!;
    expect(volumes).toContain('stores:/run/stores:ro');
    expect(depends_on).toEqual({ secrets: { condition: 'service_completed_successfully' } });
    const [script] = composeServices.secrets!.command;
    for (const file of readBy(commands[`${name} of compose`]!)) expect(script).toContain(`make 999:999 ${file}\n`);
  });

  test.each(['mongo', 'redis'])('%s of the overlay gets them from a secret, and no others', (name) => {
    const { name: volume } = containerOf(name).volumeMounts!.find(({ mountPath }) => mountPath === '/run/stores')!;
    expect(containerOf(name).volumeMounts).toContainEqual({ name: volume, mountPath: '/run/stores', readOnly: true });
    const { secretName, items } = pods[name]!.volumes!.find((each) => each.name === volume)!.secret!;
    expect(secretName).toBe('provec-stores');
    for (const { key, path } of items) expect(path).toBe(key);
    expect(items.map(({ path }) => `/run/stores/${path}`).sort()).toEqual(readBy(commands[`${name} of the overlay`]!));
  });
});

test("the laptop instructions create what the overlay refers to, and give nodes the servers' passwords", () => {
  const secrets = instructedSecrets('On a laptop');
  expect([...secrets.keys()].sort()).toEqual(['provec', 'provec-installation', 'provec-stores']);
  const stores = secrets.get('provec-stores')!;
  expect(Object.keys(stores).sort()).toEqual(['mongo-key', 'mongo-password', 'redis-password']);
  expect(new Set(Object.values(stores)).size).toBe(3);
  for (const value of Object.values(stores)) expect(value).toMatch(/^[0-9a-f]{64}$/);
  const { 'mongo-url': mongo, 'redis-url': redis, ...others } = secrets.get('provec')!;
  expect(others).toEqual({});
  const { mongoUrl, redisUrl } = readConfig({ PROVEC_MONGO_URL: mongo, PROVEC_REDIS_URL: redis });
  const url = new URL(mongoUrl!);
  expect(url).toMatchObject({
    username: 'provec',
    password: stores['mongo-password'],
    host: 'provec-mongo:27017',
    pathname: '/provec',
    search: '?replicaSet=rs0&authSource=admin',
  });
  expect(new URL(redisUrl!)).toMatchObject({
    username: '',
    password: stores['redis-password'],
    host: 'provec-redis:6379',
  });
});
