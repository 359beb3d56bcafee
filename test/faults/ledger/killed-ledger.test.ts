import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { UpsertResult } from '../../../contracts/actions/collections.ts';
import type { VerifyResult } from '../../../contracts/actions/verification.ts';
import { isThorough } from '../../support/effort.ts';
import { EmbeddedLedger } from '../../support/embedded-ledger.ts';
import { referenceLeaf, referenceRoot } from '../../support/reference-root.ts';
import { startService, type TestService } from '../../support/service.ts';
import { until } from '../../support/until.ts';

const WRITERS = 4;
const KILLS = isThorough ? 5 : 2;
const NAMES = ['one', 'two'];

let service: TestService;
let ledger: EmbeddedLedger;
const ids = new Map<string, string>();
const written = new Map<string, { id: string; values: number[]; metadata: object }[]>(NAMES.map((name) => [name, []]));

beforeAll(async () => {
  service = await startService({ PROVEC_ANCHOR_WAIT_MS: '1000' });
  ledger = new EmbeddedLedger(service);
  for (const name of NAMES) {
    const { body } = await service.api<{ collection: { id: string } }>('POST', '/collections', {
      name,
      dimensions: 2,
      shards: 2,
    });
    ids.set(name, body.collection.id);
  }
});
afterAll(() => service.stop());

test('writes are acknowledged while the ledger dies repeatedly, and its version only grows', async () => {
  let isOver = false;
  const statuses: Record<string, number> = {};
  const write = async (writer: number) => {
    const name = NAMES[writer % NAMES.length]!;
    for (let turn = 0; !isOver; turn++) {
      const record = { id: `${writer}-${turn}`, values: [writer + 1, turn], metadata: { turn } };
      const { status, body } = await service.api<UpsertResult>('POST', `/collections/${name}/upsert`, {
        records: [record],
      });
      expect({ status, upsertedCount: body.upsertedCount }).toEqual({ status: 200, upsertedCount: 1 });
      expect(body.ledgerTx === null).toBe(body.anchor.status === 'pending');
      statuses[body.anchor.status] = (statuses[body.anchor.status] ?? 0) + 1;
      written.get(name)!.push(record);
    }
  };
  const seen = new Map<string, number[]>(NAMES.map((name) => [name, []]));
  const watch = async () => {
    const client = await ledger.client();
    while (!isOver) {
      for (const name of NAMES) {
        const account = await client.read(ids.get(name)!).catch(() => null);
        if (account?.status === 'found' && account.fields) seen.get(name)!.push(account.fields.version);
      }
    }
  };
  const running = Promise.all([...Array.from({ length: WRITERS }, (_, writer) => write(writer)), watch()]);
  try {
    for (let kill = 0; kill < KILLS; kill++) {
      const before = statuses.confirmed ?? 0;
      const failed = running.then(() => false);
      failed.catch(() => undefined);
      await until('something is anchored', () => (statuses.confirmed ?? 0) > before);
      const pending = statuses.pending ?? 0;
      ledger.kill();
      // However fast the ledger comes back.
      await until('a write is acknowledged without its anchor', async () => {
        if ((statuses.pending ?? 0) > pending) return true;
        if (await ledger.answers()) ledger.kill();
        return false;
      });
      await Promise.race([failed, until('the ledger is back', () => ledger.answers())]);
    }
  } finally {
    isOver = true;
    // Nothing continues into the next tests, whatever fails.
    await Promise.allSettled([running]);
  }
  await running;

  for (const versions of seen.values()) {
    expect(new Set(versions).size).toBeGreaterThan(1);
    expect(versions).toEqual(versions.toSorted((a, b) => a - b));
  }
  for (const name of NAMES) {
    const root = referenceRoot(
      written.get(name)!.map(({ id, values, metadata }) => referenceLeaf(id, values, metadata)),
    );
    const verified = await until('everything is anchored', async () => {
      const { body } = await service.api<VerifyResult>('GET', `/collections/${name}/verify`);
      expect(['match', 'pending', 'unreachable']).toContain(body.state);
      return body.state === 'match' && body;
    });
    expect(verified).toMatchObject({ onChainRoot: root, vectorCount: written.get(name)!.length });
  }
});

test('the history of anchors has growing versions, and each transaction once', async () => {
  for (const name of NAMES) {
    const { body } = await service.api<{ anchors: { version: number; ledgerTx: string }[] }>(
      'GET',
      `/collections/${name}/anchors?limit=1000`,
    );
    const versions = body.anchors.map(({ version }) => version);
    expect(versions).toEqual([...new Set(versions)].toSorted((a, b) => b - a));
    expect(new Set(body.anchors.map(({ ledgerTx }) => ledgerTx)).size).toBe(versions.length);
  }
});
