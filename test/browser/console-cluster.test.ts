/** The operator's pages of the console in a cluster: moves, drains, a lost node, metrics. */

import { once } from 'node:events';
import { createServer, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { startBacking } from '../support/backing-services.ts';
import { startBrowser, type TestBrowser } from '../support/browser.ts';
import { ClusterProcess } from '../support/cluster-process.ts';
import { freePorts } from '../support/free-ports.ts';
import { ADMIN_TOKEN } from '../support/tenant.ts';
import { until } from '../support/until.ts';
import { ConsoleVisitor } from './console-visitor.ts';

const SHARDS = 4;

let browser: TestBrowser;
let cluster: ClusterProcess;
let collectionId: string;

beforeAll(async () => {
  const [healthPort] = await freePorts(1);
  const environmentOf = (id: string): Record<string, string> =>
    id.startsWith('gateway') ? { PROVEC_HEALTH_PORT: `${healthPort}` } : {};
  [browser, cluster] = await Promise.all([
    startBrowser(),
    startBacking('SQLite + TCP').then((backing) =>
      ClusterProcess.start(backing, {
        shardNodes: 2,
        environment: { PROVEC_ADMIN_TOKEN: ADMIN_TOKEN, PROVEC_LEDGER: 'off' },
        environmentOf,
      }),
    ),
  ]);
  const { body } = await cluster.api<{ collection: { id: string } }>('POST', '/collections', {
    ...{ name: 'spread', dimensions: 2, shards: SHARDS },
  });
  collectionId = body.collection.id;
  const records = Array.from({ length: 80 }, (_, at) => ({ id: `r${at}`, values: [Math.sin(at), 1] }));
  expect((await cluster.api('POST', '/collections/spread/upsert', { records })).status).toBe(200);
});
afterAll(async () => {
  await browser?.dispose();
  await cluster?.dispose();
});

const visit = async (url = () => cluster.gatewayUrl()) => new ConsoleVisitor(await browser.open(), url);
const holderOf = async (index: number) =>
  (await cluster.store.owners.get(`${collectionId}.${index}` as never))?.holder?.node;

/** A proxy that keeps metrics back, as many do. */
async function startProxy(): Promise<Server> {
  const server = createServer((req, res) => {
    if (req.url === '/metrics') return res.writeHead(403).end('Forbidden');
    const { hostname, port } = new URL(cluster.gatewayUrl());
    const { url: path, method, headers } = req;
    const sent = request({ hostname, port, path, method, headers }, (answer) => {
      res.writeHead(answer.statusCode!, answer.headers);
      answer.pipe(res);
    });
    sent.on('error', () => res.destroy());
    return req.pipe(sent);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

describe('metrics', () => {
  test('are read with the token where there is a health port', async () => {
    expect((await fetch(`${cluster.gatewayUrl()}/metrics`)).status).toBe(401);
    const visitor = await visit();
    await visitor.operate(ADMIN_TOKEN);
    await visitor.page.locator('.tile-value').first().waitFor();
    await visitor.sees('The ledger is off');
    await visitor.expectSound('the overview of a cluster');
    await visitor.close();
  });

  test('that a proxy keeps back are missed in words, and the rest is there', async () => {
    const proxy = await startProxy();
    const visitor = await visit(() => `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`);
    await visitor.operate(ADMIN_TOKEN);
    await visitor.sees('keeps /metrics back (HTTP 403)');
    await visitor.page.getByRole('region', { name: 'Nodes with shards' }).waitFor();
    await visitor.expectSound('metrics that are kept back');
    await visitor.close();
    proxy.closeAllConnections();
    proxy.close();
  });
});

test('a shard is moved, a node is drained once its name was typed, and one that is gone is an alert', async () => {
  const visitor = await visit();
  await visitor.operate(ADMIN_TOKEN);
  await visitor.go(`#/operator/shards?collection=${collectionId}`);
  await until('the shards are listed', async () => (await visitor.page.locator('tbody tr').count()) === SHARDS);
  await visitor.expectSound('shards of a cluster');
  const before = await holderOf(0);
  await visitor.page.getByRole('button', { name: /^Move shard 0 / }).click();
  await visitor.page.getByLabel('To', { exact: true }).getAttribute('id');
  await visitor.expectSound('a shard to move');
  await visitor.press('Move the shard');
  await visitor.sees(/holds the shard\./);
  expect(await holderOf(0)).not.toBe(before);

  const [drained, kept] = cluster.shardNodes.map(({ id }) => id) as [string, string];
  await visitor.go('#/operator/nodes');
  await visitor.press(`Drain ${drained}`);
  expect(await visitor.page.getByRole('button', { name: 'Drain the node' }).isDisabled()).toBe(true);
  await visitor.expectSound('a node to drain');
  await visitor.page.getByLabel(`Type ${drained} to confirm`).fill(drained);
  await visitor.press('Drain the node');
  await visitor.sees('Drained');
  for (let index = 0; index < SHARDS; index++) expect(await holderOf(index)).not.toBe(drained);
  await visitor.expectSound('a drained node');

  await cluster.node(kept).kill();
  await visitor.go('#/operator');
  await visitor.sees(new RegExp(`does not answer: .*${kept}`));
  await visitor.sees(/shards (cannot be reached|have no holder)/);
  await visitor.expectSound('a node that is gone');
  await visitor.close();
});
