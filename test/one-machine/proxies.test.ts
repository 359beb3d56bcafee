/** Provec behind Caddy and behind nginx, each with the settings of `deploy/`. */
import { once } from 'node:events';
import type { ClientRequest } from 'node:http';
import { Agent, type RequestOptions, request } from 'node:https';
import { buffer, text } from 'node:stream/consumers';
import { setDefaultCACertificates } from 'node:tls';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Provec } from '../../client/index.ts';
import { freePorts } from '../support/free-ports.ts';
import { type ServiceProcess, startProcess } from '../support/service-process.ts';
import { ADMIN_TOKEN, TEST_KEY } from '../support/tenant.ts';
import { until } from '../support/until.ts';
import { AUTHORITY, PROXIES, RunningProxy } from './proxy.ts';

const MIB = 1024 * 1024;
const TEST_MAX_MS = 300_000;
const BEARER = { authorization: `Bearer ${TEST_KEY}` };

// The client uses the process's certificates.
setDefaultCACertificates([String(AUTHORITY)]);

let service: ServiceProcess;
beforeAll(async () => {
  const [port, healthPort] = await freePorts(2);
  service = await startProcess({
    PROVEC_PORT: `${port}`,
    PROVEC_HEALTH_PORT: `${healthPort}`,
    PROVEC_ADMIN_TOKEN: ADMIN_TOKEN,
    PROVEC_LEDGER: 'off',
    PROVEC_PUBLIC_URL: 'https://localhost',
    PROVEC_TRUSTED_PROXIES: '127.0.0.1',
  });
});
afterAll(() => service?.dispose());

describe.each(PROXIES)(
  'behind %s',
  (name) => {
    let proxy: RunningProxy;
    let client: Provec;
    beforeAll(async () => {
      proxy = await RunningProxy.start(name, service.url);
      client = new Provec({ url: proxy.url, apiKey: TEST_KEY });
      await client.createCollection({ name, dimensions: 2 });
    });
    afterAll(() => proxy?.stop());

    const send = (method: string, path: string, options: RequestOptions = {}): ClientRequest =>
      request(`${proxy.url}${path}`, { method, ca: AUTHORITY, ...options, headers: { ...BEARER, ...options.headers } });

    test('requests of a client share one connection', async () => {
      const agent = new Agent({ keepAlive: true, maxSockets: 1, ca: AUTHORITY });
      const ports = new Set<number | undefined>();
      for (let at = 0; at < 5; at++) {
        const call = send('GET', '/api/v1/collections', { agent });
        const [response] = await once(call.end(), 'response');
        ports.add(response.socket.localPort);
        expect([response.statusCode, (await text(response)).length > 0]).toEqual([200, true]);
      }
      expect(ports.size).toBe(1);
      agent.destroy();
    });

    test('large bodies arrive, and one that is too large gets the answer of Provec', async () => {
      const padding = 'x'.repeat(30_000);
      const records = Array.from({ length: 1_000 }, (_, id) => ({
        id: `l${id}`,
        values: [id, 1],
        metadata: { padding },
      }));
      expect(await client.collection(name).upsert({ records })).toMatchObject({ upsertedCount: 1_000 });
      const call = send('POST', `/api/v1/collections/${name}/upsert`, {
        headers: { 'content-type': 'application/json' },
      });
      const answered = once(call, 'response');
      call.on('error', () => undefined);
      call.end(Buffer.alloc(80 * MIB, ' '));
      const [response] = await answered;
      expect([response.statusCode, JSON.parse(await text(response)).code]).toEqual([413, expect.any(String)]);
    });

    test('an import is stored while the client still sends', async () => {
      const call = send('POST', `/api/v1/collections/${name}/import`, {
        headers: { 'content-type': 'application/x-ndjson' },
      });
      const answered = once(call, 'response');
      const lines = (from: number, to: number) =>
        Array.from({ length: to - from }, (_, at) => `${JSON.stringify({ id: `i${from + at}`, values: [at, 2] })}\n`);
      call.write(lines(0, 20_000).join(''));
      await until('the first part is stored', async () => (await client.collection(name).count()) > 10_000);
      call.end(lines(20_000, 21_000).join(''));
      const [response] = await answered;
      expect([response.statusCode, await text(response)]).toEqual([200, expect.stringContaining('21000')]);
    });

    test('an export is the same as without the proxy', async () => {
      const path = `/api/v1/collections/${name}/export`;
      const [response] = await once(send('GET', path).end(), 'response');
      const direct = await fetch(`${service.url}${path}`, { headers: BEARER });
      const [through, own] = [await buffer(response), Buffer.from(await direct.arrayBuffer())];
      expect(through.length).toBeGreaterThan(20 * MIB);
      expect(through.equals(own)).toBe(true);
    });

    test('the audit trail names the client that the proxy saw', async () => {
      const call = send('POST', '/api/v1/keys', {
        localAddress: '127.0.0.7',
        headers: { 'content-type': 'application/json', 'x-forwarded-for': '192.0.2.1' },
      });
      const [response] = await once(call.end(JSON.stringify({ name: `key of ${name}`, scopes: ['read'] })), 'response');
      expect([response.statusCode, await text(response)]).toEqual([201, expect.stringContaining('secret')]);
      const entries = await client.listAuditEntries().all();
      expect(entries.findLast(({ action, phase }) => action === 'key.create' && phase === 'begin')).toMatchObject({
        address: '127.0.0.7',
      });
    });

    test('metrics do not pass, health does', async () => {
      const statuses = ['/metrics', '/livez', '/readyz'].map(
        async (path) => (await fetch(`${proxy.url}${path}`)).status,
      );
      expect(await Promise.all(statuses)).toEqual([401, 200, 200]);
    });

    test('a restart fails no request of a client', async () => {
      let isRestarted = false;
      const written: string[] = [];
      const writer = async (prefix: string) => {
        for (let at = 0; !isRestarted || at < 20; at++) {
          const id = `${prefix}${at}`;
          await client.collection(name).upsert({ records: [{ id, values: [at, 3] }] });
          written.push(id);
          expect((await client.collection(name).query({ vector: [1, 1], topK: 1 })).matches).toHaveLength(1);
        }
      };
      const writing = Promise.all(['w', 'v', 'u'].map(writer));
      await until('they write', () => written.length > 10);
      await service.kill('SIGTERM');
      await service.restart();
      isRestarted = true;
      await writing;
      const ids = written.slice(-1_000);
      expect(Object.keys(await client.collection(name).fetch({ ids })).sort()).toEqual(ids.sort());
    });
  },
  TEST_MAX_MS,
);
