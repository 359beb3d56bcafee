/**
 * Writes to 200 collections for an hour, or for PROVEC_TEST_MINUTES, while the ledger is killed
 * every 20 s.
 */
import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { AnchorsPage, UpsertResult } from '../../../contracts/actions/collections.ts';
import type { VerifyResult } from '../../../contracts/actions/verification.ts';
import type { LedgerRelay } from '../../support/ledger-relay.ts';
import { randomFrom } from '../../support/random.ts';
import { referenceLeaf, referenceRoot } from '../../support/reference-root.ts';
import { seed } from '../../support/seed.ts';
import { type ServiceProcess, startProcess } from '../../support/service-process.ts';
import type { TransactionWatch } from '../../support/transaction-watch.ts';
import { until } from '../../support/until.ts';
import { watchedCollections, watchedLedger } from '../../support/watched-ledger.ts';

const MINUTES = Number(process.env.PROVEC_TEST_MINUTES ?? 60);
const COLLECTIONS = 200;
const WRITERS = 16;
/** Ids per writer and collection. */
const IDS = 8;
const KILL_EVERY_MS = 20_000;
const PASS_PAUSE_MS = 500;
const GUARD_MS = (MINUTES + 10) * 60_000;

interface Written {
  values: number[];
  metadata: object;
}

let relay: LedgerRelay;
let watch: TransactionWatch;
let service: ServiceProcess;
let ids: Map<string, string>;
let names: string[];
/** Expected records of each collection according to its writers, by id. */
let standing: Map<string, Map<string, Written>>;

const memoryMiB = () => {
  const [, kilobytes] = /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${service.pid}/status`, 'utf8'))!;
  return Math.round(Number(kilobytes) / 1024);
};

beforeAll(async () => {
  ({ relay, watch } = await watchedLedger());
  service = await startProcess({ ...relay.environment, PROVEC_ANCHOR_WAIT_MS: '1000', PROVEC_LOG_LEVEL: 'error' });
  ids = await watchedCollections(service.api, watch, COLLECTIONS);
  names = [...ids.keys()];
  standing = new Map(names.map((name) => [name, new Map()]));
});
afterAll(async () => {
  await service.dispose();
  await relay.close();
});

const verify = async (name: string) => (await service.api<VerifyResult>('GET', `/collections/${name}/verify`)).body;

test(
  'every write is acknowledged, and confirmed versions only grow',
  async () => {
    const random = randomFrom(seed);
    const below = (count: number) => Math.floor(random() * count);
    const counts: Record<string, number> = { confirmed: 0, pending: 0, kills: 0, readings: 0 };
    const read = new Map<string, number>();
    const endMs = performance.now() + MINUTES * 60_000;
    const isOver = () => performance.now() >= endMs;

    const write = async (writer: number) => {
      for (let turn = 0; !isOver(); turn++) {
        const name = names[below(COLLECTIONS)]!;
        const id = `${writer}-${below(IDS)}`;
        const records = standing.get(name)!;
        const removes = records.has(id) && random() < 0.3;
        const record: Written = { values: [writer + 1, turn], metadata: { turn } };
        const { status, body } = removes
          ? await service.api<UpsertResult>('POST', `/collections/${name}/delete`, { ids: [id] })
          : await service.api<UpsertResult>('POST', `/collections/${name}/upsert`, { records: [{ id, ...record }] });
        expect({ status, anchor: body.anchor.status }).toEqual({
          status: 200,
          anchor: expect.stringMatching(/^(confirmed|pending)$/),
        });
        counts[body.anchor.status]! += 1;
        if (removes) records.delete(id);
        else records.set(id, record);
      }
    };
    /** Reads every account directly from the ledger, whatever the service and its watch assume. */
    const look = async () => {
      const client = await relay.client('authority');
      while (!isOver()) {
        for (const id of ids.values()) {
          const account = await client.read(id).catch(() => null);
          const version = account?.status === 'found' ? account.fields?.version : undefined;
          if (version === undefined) continue;
          expect(version).toBeGreaterThanOrEqual(read.get(id) ?? 0);
          read.set(id, version);
          counts.readings! += 1;
        }
        await delay(PASS_PAUSE_MS);
      }
    };
    const kill = async () => {
      while (!isOver()) {
        await delay(KILL_EVERY_MS);
        relay.killLedger();
        counts.kills! += 1;
        if (counts.kills! % 15 === 0)
          console.log(`after ${counts.kills} kills: ${JSON.stringify(counts)}, ${memoryMiB()} MiB`);
      }
    };
    const began = memoryMiB();
    await Promise.all([...Array.from({ length: WRITERS }, (_, writer) => write(writer)), look(), kill()]);

    expect(watch.breaches).toEqual([]);
    expect(counts.confirmed).toBeGreaterThan(0);
    const transactions = [...watch.sent.values()].reduce((sum, { length }) => sum + length, 0);
    console.log(`${JSON.stringify(counts)}, ${transactions} transactions, memory ${began} to ${memoryMiB()} MiB`);
  },
  GUARD_MS,
);

test('everything written is anchored in the end', async () => {
  for (const name of names) {
    const records = [...standing.get(name)!];
    const root = referenceRoot(records.map(([id, { values, metadata }]) => referenceLeaf(id, values, metadata)));
    const verified = await until(`${name} is anchored`, async () => {
      const answer = await verify(name);
      expect(['match', 'pending', 'unreachable', 'not_anchored']).toContain(answer.state);
      return answer.state === 'match' && answer;
    });
    expect(verified).toMatchObject({ onChainRoot: root, vectorCount: records.length });
  }
  expect(watch.breaches).toEqual([]);
}, 600_000);

test('the history has growing versions, and each transaction once', async () => {
  for (const name of names) {
    const versions: number[] = [];
    const transactions: string[] = [];
    for (let cursor: string | null = ''; cursor !== null; ) {
      const path: string = `/collections/${name}/anchors?limit=1000${cursor && `&cursor=${encodeURIComponent(cursor)}`}`;
      const { body }: { body: AnchorsPage } = await service.api('GET', path);
      for (const { version, ledgerTx } of body.anchors) {
        versions.push(version);
        transactions.push(ledgerTx);
      }
      cursor = body.nextCursor;
    }
    expect(versions).toEqual([...new Set(versions)].toSorted((a, b) => b - a));
    expect(new Set(transactions).size).toBe(transactions.length);
  }
});

test('stops as usual, and the anchored state is there after a start', async () => {
  expect(await service.kill('SIGTERM')).toEqual({ code: 0, signal: null });
  await service.restart();
  for (const name of names.slice(0, 20)) expect(await verify(name)).toMatchObject({ state: 'match' });
});
