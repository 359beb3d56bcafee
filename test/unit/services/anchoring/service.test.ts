import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { ServiceBroker } from 'moleculer';
import type { LedgerInfo } from '../../../../contracts/actions/anchoring.ts';
import { type ActionName, type Actions, call } from '../../../../contracts/actions/call.ts';
import { LEDGER_PROGRAM } from '../../../../lib/ledger/program.ts';
import type { ShardHead } from '../../../../lib/shard/head.ts';
import { SYSTEM_CLOCK } from '../../../../lib/time/clock.ts';
import { type Config, ConfigError, readConfig } from '../../../../process/config.ts';
import { runtimeOf } from '../../../../process/runtime.ts';
import anchoringService from '../../../../services/anchoring/anchoring.service.ts';
import { openAuthority } from '../../../../services/anchoring/ledger/authority.ts';
import {
  collectionAddress,
  collectionSeed,
  readAccount,
} from '../../../../services/anchoring/ledger/collection-account.ts';
import { explorerLinks, explorerUrl } from '../../../../services/anchoring/ledger/explorer.ts';
import { sealed, sealKeyOf } from '../../../../services/anchoring/outbox/row-seal.ts';
import { until } from '../../../support/until.ts';
import { AnchoringFixture, headOf, SILENT } from './fixture.ts';

const WAIT_MS = 60_000;

function broker(): ServiceBroker {
  return new ServiceBroker({ logger: false });
}

/** The explorer's pages must be allowed to read the embedded ledger. */
const EXPLORER = 'https://explorer.solana.com';

describe.each([
  ['with links for the explorer', { PROVEC_CORS_ORIGINS: `https://app.example,${EXPLORER}` }],
  ['without links that no explorer could open', {}],
])('the service %s', (_, environment) => {
  let fixture: AnchoringFixture;
  let running: ServiceBroker;
  let config: Config;
  const asked: unknown[] = [];

  beforeAll(async () => {
    fixture = await AnchoringFixture.open();
    config = readConfig({ PROVEC_DATA_DIR: fixture.folder, ...environment });
    running = broker();
    running.createService(
      anchoringService(
        runtimeOf({ config, store: fixture.store, clock: SYSTEM_CLOCK, log: SILENT }),
        fixture.devLedger,
      ),
    );
    running.createService({
      name: 'shards',
      actions: {
        headAt: ({ params }: { params: Actions['shards.headAt']['params'] }): ShardHead => {
          asked.push(params);
          return headOf(params.shard.index, params.seq);
        },
      },
    });
    await running.start();
  });
  afterAll(async () => {
    await running.stop();
    await fixture.end();
  });

  const linkTo = (page: string) =>
    config.corsOrigins.includes(EXPLORER)
      ? `${EXPLORER}/${page}?cluster=custom&customUrl=${encodeURIComponent(fixture.devLedger.url)}`
      : null;
  const ask = <N extends ActionName>(name: N, params: Actions[N]['params']) => call(running, name, params);

  test('answers submit, onChain, state, history, address and info with consistent links', async () => {
    const row = await fixture.collection(2);
    const cut = await fixture.commit(row, 1);
    const receipt = await ask('anchoring.submit', { collectionId: row.id, cut, waitMs: WAIT_MS });
    expect(receipt.status).toBe('confirmed');
    expect(receipt.explorerUrl).toBe(linkTo(`tx/${receipt.signature}`));
    const collectionId = row.id;
    const where = (await ask('anchoring.address', { collectionId }))!;
    expect(where.explorerUrl).toBe(linkTo(`address/${where.address}`));
    expect(await ask('anchoring.onChain', { collectionId })).toMatchObject({ status: 'found', version: 1, ...where });
    expect((await ask('anchoring.state', { collectionId }))!.address).toBe(where.address);
    const history = await ask('anchoring.history', { collectionId, limit: 5, before: null });
    expect(history).toMatchObject({
      items: [
        {
          position: 1,
          version: 1,
          decisions: 0,
          isSealed: true,
          signature: receipt.signature,
          explorerUrl: receipt.explorerUrl,
        },
      ],
      faults: [],
      next: null,
    });
    expect(await ask('anchoring.info', {})).toEqual({
      enabled: true,
      program: LEDGER_PROGRAM,
      authority: fixture.client.authority,
      cluster: config.solanaCluster,
      rpc: [fixture.devLedger.url],
      isEmbedded: true,
    });
    expect((await ask('anchoring.balance', {})).lamports).toBe(Number(await fixture.client.balance()));
    expect((await ask('anchoring.stats', {})).confirmed).toBeGreaterThan(0);
  });

  test("the ledger keeps the authority's transactions separately", async () => {
    const journal = () => readFileSync(join(fixture.folder, 'ledger/journal.ndjson'), 'utf8');
    const line = JSON.stringify({ kind: 'payer', address: fixture.client.authority });
    await until('the ledger knows its payer', async () => journal().includes(line));
  });

  test('halt stops, resume continues, close forgets', async () => {
    const row = await fixture.collection();
    const collectionId = row.id;
    await ask('anchoring.submit', { collectionId, cut: await fixture.commit(row), waitMs: WAIT_MS });
    await ask('anchoring.halt', { collectionId, reason: 'because' });
    const cut = await fixture.commit(row);
    expect((await ask('anchoring.submit', { collectionId, cut, waitMs: WAIT_MS })).status).toBe('pending');
    expect((await ask('anchoring.state', { collectionId }))!.halted!.reason).toBe('because');
    await ask('anchoring.resume', { collectionId });
    expect((await ask('anchoring.submit', { collectionId, cut, waitMs: WAIT_MS })).status).toBe('confirmed');
    await ask('anchoring.close', { collectionId });
    await until('the row is gone', async () => (await ask('anchoring.state', { collectionId })) === null);
    expect((await ask('anchoring.onChain', { collectionId })).status).toBe('absent');
  });

  test("asks the shards for their heads at the confirmed cut before a process's first anchor, and at every cut before it signs", async () => {
    const row = await fixture.collection(2);
    const key = sealKeyOf(join(fixture.folder, 'ledger-keypair.json'));
    const anchors = sealed(fixture.store.anchors, key, Date.now, SILENT);
    const anchoring = await fixture.start({ store: { ...fixture.store, anchors } });
    await anchoring.submit(row.id, await fixture.commit(row, 1), WAIT_MS);
    await anchoring.stop();
    asked.length = 0;
    const params = { collectionId: row.id, cut: await fixture.commit(row, 0), waitMs: WAIT_MS };
    expect((await ask('anchoring.submit', params)).status).toBe('confirmed');
    const collection = { collectionId: row.id, of: 2 };
    const atConfirmed = [{ shard: { ...collection, index: 1 }, seq: 1 }];
    const atSigned = [0, 1].map((index) => ({ shard: { ...collection, index }, seq: 1 }));
    expect(asked).toMatchObject([...atConfirmed, ...atSigned]);
  });
});

test('URLs of RPC nodes reveal nothing that may be a key', async () => {
  const fixture = await AnchoringFixture.open();
  const config = readConfig({
    PROVEC_DATA_DIR: fixture.folder,
    PROVEC_SOLANA_RPC_URLS: 'https://rpc.example/v2/SECRET,https://user:SECRET@other.example:8899/?api-key=SECRET',
    PROVEC_SOLANA_CLUSTER: 'devnet',
    PROVEC_SOLANA_KEYPAIR: join(fixture.folder, 'ledger-keypair.json'),
  });
  const { actions } = anchoringService(
    runtimeOf({ config, store: fixture.store, clock: SYSTEM_CLOCK, log: SILENT }),
    null,
  );
  const { handler } = actions!.info as unknown as { handler(): Promise<LedgerInfo> };
  expect((await handler()).rpc).toEqual(['https://rpc.example', 'https://other.example:8899']);
  await fixture.end();
});

test('with the ledger off nothing is anchored and nothing fails', async () => {
  const fixture = await AnchoringFixture.open();
  const config = readConfig({ PROVEC_DATA_DIR: fixture.folder, PROVEC_LEDGER: 'off' });
  const running = broker();
  running.createService(
    anchoringService(runtimeOf({ config, store: fixture.store, clock: SYSTEM_CLOCK, log: SILENT }), null),
  );
  await running.start();
  const collectionId = (await fixture.collection()).id;
  const submitted = await call(running, 'anchoring.submit', { collectionId, cut: [headOf(0, 1)], waitMs: WAIT_MS });
  expect(submitted).toEqual({ status: 'none', signature: null, explorerUrl: null });
  expect(await call(running, 'anchoring.address', { collectionId })).toBeNull();
  expect(await call(running, 'anchoring.info', {})).toMatchObject({ enabled: false, authority: null });
  expect(await call(running, 'anchoring.balance', {})).toEqual({ lamports: null });
  expect(await call(running, 'anchoring.history', { collectionId, limit: 1, before: null })).toEqual({
    items: [],
    faults: [],
    dropped: 0,
    next: null,
  });
  expect(await call(running, 'anchoring.explorerUrl', { signature: 'S' })).toMatch(/^https:/);
  await call(running, 'anchoring.halt', { collectionId, reason: 'x' });
  await call(running, 'anchoring.close', { collectionId });
  await running.stop();
  await fixture.end();
});

describe('the keypair', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'provec-keypair-'));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  test('is created once, readable only by its owner, in the format of solana-keygen', async () => {
    const file = join(folder, 'new', 'keypair.json');
    const made = await openAuthority(file, true, SILENT);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(JSON.parse(readFileSync(file, 'utf8'))).toHaveLength(64);
    expect((await openAuthority(file, true, SILENT)).address).toBe(made.address);
  });

  test('is refused in one line if absent or invalid, and the line reveals nothing of it', async () => {
    const file = join(folder, 'keypair.json');
    const absent = openAuthority(file, false, SILENT);
    await expect(absent).rejects.toThrow(ConfigError);
    await expect(absent).rejects.toThrow(
      /does not exist: set the path of the right file, or restore the file if it was removed\.$/,
    );
    for (const text of [
      '',
      '[1,2,3]',
      JSON.stringify(Array(64).fill(7)),
      '{"a":1}',
      JSON.stringify(Array(64).fill(300)),
    ]) {
      writeFileSync(file, text, { mode: 0o600 });
      const refused = openAuthority(file, true, SILENT);
      await expect(refused).rejects.toThrow(/^PROVEC_SOLANA_KEYPAIR must be a file of 64 numbers[^\n]*$/);
    }
  });

  test('causes a warning if others can read it', async () => {
    const file = join(folder, 'keypair.json');
    await openAuthority(file, true, SILENT);
    chmodSync(file, 0o644);
    const warn = jest.fn();
    await openAuthority(file, false, { warn } as never);
    expect(warn).toHaveBeenCalledTimes(1);
  });
});

test('explorer links name the cluster and never the secrets of an RPC URL', () => {
  const rpcUrl = 'https://user:pass@rpc.example.com/secret/path?api-key=secret';
  expect(explorerUrl('tx', 'S', 'mainnet-beta', rpcUrl)).toBe('https://explorer.solana.com/tx/S');
  expect(explorerUrl('address', 'A', 'devnet', rpcUrl)).toBe('https://explorer.solana.com/address/A?cluster=devnet');
  expect(explorerUrl('tx', 'S', 'custom', rpcUrl)).toBe(
    'https://explorer.solana.com/tx/S?cluster=custom&customUrl=https%3A%2F%2Frpc.example.com',
  );
});

test('the embedded ledger has links only if the explorer may read it, and no links to another cluster', () => {
  const at = (environment: object) => {
    const links = explorerLinks(readConfig({ PROVEC_DATA_DIR: '/nowhere', ...environment }), true, () => 'http://x');
    return links('tx', 'S');
  };
  // Pages may read it only if their origin is listed.
  for (const origins of ['*', 'https://explorer.solana.com.evil.example', 'https://app.example'])
    expect(at({ PROVEC_CORS_ORIGINS: origins })).toBeNull();
  expect(at({ PROVEC_SOLANA_CLUSTER: 'devnet' })).toBeNull();
  const named = { PROVEC_CORS_ORIGINS: EXPLORER, PROVEC_SOLANA_CLUSTER: 'devnet' };
  expect(at(named)).toBe(`${EXPLORER}/tx/S?cluster=custom&customUrl=http%3A%2F%2Fx`);
});

test("a collection's address follows from authority and id alone", async () => {
  const authority = '4FnPaGCE9FHDnNV4fyLmg6DQcTvEc8ofzcpPPpgUhZU1' as Parameters<typeof collectionAddress>[0];
  const id = '00112233-4455-6677-8899-aabbccddeeff';
  expect(collectionSeed(id)).toMatch(/^[A-Za-z0-9_-]{32}$/);
  expect(await collectionAddress(authority, id)).toBe(await collectionAddress(authority, id.toUpperCase()));
  expect(await collectionAddress(authority, id)).not.toBe(await collectionAddress(authority, id.replace(/f$/, 'e')));
  expect(() => collectionSeed('not a uuid')).toThrow(RangeError);
});

test('bytes that are not a collection account are foreign', () => {
  const authority = '4FnPaGCE9FHDnNV4fyLmg6DQcTvEc8ofzcpPPpgUhZU1';
  for (const data of [new Uint8Array(0), new Uint8Array(82), new Uint8Array(600).fill(255)]) {
    expect(readAccount(data, LEDGER_PROGRAM, authority, authority).status).toBe('foreign');
  }
  expect(readAccount(new Uint8Array(82), authority, authority, authority).status).toBe('foreign');
});
