import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { collectionRoot } from '../../../../lib/shard/collection-root.ts';
import { SYSTEM_CLOCK } from '../../../../lib/time/clock.ts';
import { LedgerUnreachableError, RpcPool } from '../../../../services/anchoring/ledger/rpc-pool.ts';
import { startDevLedger } from '../../../../services/devledger/process.ts';
import { until } from '../../../support/until.ts';
import { AnchoringFixture, SILENT } from './fixture.ts';

const WAIT_MS = 20_000;
const CLOSED_PORT = 'http://127.0.0.1:1';
const monotonicMs = () => SYSTEM_CLOCK.monotonicMs();

describe('a ledger out of reach', () => {
  let fixture: AnchoringFixture;
  let servers: Server[] = [];
  beforeEach(async () => {
    fixture = await AnchoringFixture.open();
  });
  afterEach(async () => {
    for (const server of servers) {
      server.closeAllConnections();
      server.close();
    }
    servers = [];
    await fixture.end();
  });

  /** A server that responds to every request in the given way, and counts requests. */
  async function endpoint(status: number | 'silent' | 'no JSON'): Promise<{ url: string; requests(): number }> {
    let requests = 0;
    const server = createServer((_, response) => {
      requests += 1;
      if (status === 'no JSON') response.end('<html>');
      else if (status !== 'silent') response.writeHead(status).end('{}');
    });
    servers.push(server);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests: () => requests };
  }

  test('a write is pending at its deadline, and anchored when the ledger is back', async () => {
    const anchoring = await fixture.start();
    const row = await fixture.collection();
    await fixture.devLedger.stop();
    const cut = await fixture.commit(row);
    expect(await anchoring.submit(row.id, cut, 200)).toBeNull();
    expect(await anchoring.stats()).toMatchObject({ pending: 1, confirmed: 0 });
    await until('a failure is counted', async () => (await anchoring.stats()).failures > 0);

    const back = await startDevLedger({ dataDir: fixture.folder, log: SILENT });
    try {
      Object.defineProperty(fixture.where, 'url', { get: () => back.url });
      const confirmed = await anchoring.submit(row.id, cut, WAIT_MS);
      expect(confirmed).toMatchObject(collectionRoot(cut));
      expect((await anchoring.stats()).pending).toBe(0);
    } finally {
      await anchoring.stop();
      await back.stop();
    }
  });

  test('that dies between two transactions loses neither', async () => {
    const anchoring = await fixture.start();
    const row = await fixture.collection();
    await anchoring.submit(row.id, await fixture.commit(row), WAIT_MS);
    process.kill(fixture.devLedger.pid, 'SIGKILL');
    const cut = await fixture.commit(row);
    expect(await anchoring.submit(row.id, cut, WAIT_MS)).toMatchObject(collectionRoot(cut));
  });

  test.each([503, 429, 'no JSON', 'silent'] as const)('skips an endpoint that answers %s', async (status) => {
    const bad = await endpoint(status);
    const pool = new RpcPool({ embedded: false, urls: () => [bad.url, fixture.where.url] }, () => 0);
    const height = () => pool.call((rpc, abortSignal) => rpc.getBlockHeight().send({ abortSignal }));
    expect(await height()).toBeGreaterThan(0n);
    const asked = bad.requests();
    expect(asked).toBeGreaterThan(0);
    expect(await height()).toBeGreaterThan(0n);
    expect(bad.requests()).toBe(asked);
  });

  test('without any endpoint there is one error, without URLs', async () => {
    const pool = new RpcPool({ embedded: false, urls: () => [`${CLOSED_PORT}/?api-key=secret`] }, monotonicMs);
    const asked = pool.call((rpc, abortSignal) => rpc.getSlot().send({ abortSignal }));
    await expect(asked).rejects.toThrow(LedgerUnreachableError);
    await expect(asked).rejects.not.toThrow(/secret/);
  });

  test('a request refused by one endpoint goes to another, and the refusal counts if none does better', async () => {
    const spare = await endpoint(503);
    const pool = new RpcPool({ embedded: false, urls: () => [fixture.where.url, spare.url] }, monotonicMs);
    const asked = pool.call((rpc, abortSignal) => rpc.getBalance('x' as never).send({ abortSignal }));
    await expect(asked).rejects.toThrow();
    await expect(asked).rejects.not.toThrow(LedgerUnreachableError);
    expect(spare.requests()).toBe(1);
  });
});
