import { createHash, randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { pino } from 'pino';
import type { PlanName } from '../../../../lib/plans.ts';
import type { AnchoredRoot } from '../../../../lib/shard/collection-root.ts';
import { type Cut, EMPTY_HEAD, type ShardHead } from '../../../../lib/shard/head.ts';
import { shardKey } from '../../../../lib/shard/key.ts';
import { SYSTEM_CLOCK } from '../../../../lib/time/clock.ts';
import { readConfig } from '../../../../process/config.ts';
import { PlanBook } from '../../../../process/plan-book.ts';
import { Anchoring } from '../../../../services/anchoring/anchoring.ts';
import type { AnchoringOptions } from '../../../../services/anchoring/context.ts';
import { openAuthority } from '../../../../services/anchoring/ledger/authority.ts';
import { fundFromEmbeddedLedger } from '../../../../services/anchoring/ledger/funds.ts';
import { LedgerClient } from '../../../../services/anchoring/ledger/ledger-client.ts';
import { RpcPool } from '../../../../services/anchoring/ledger/rpc-pool.ts';
import type { JournalLine } from '../../../../services/devledger/journal.ts';
import { type DevLedger, startDevLedger } from '../../../../services/devledger/process.ts';
import type { CollectionRow } from '../../../../store/catalog.ts';
import type { Store } from '../../../../store/port.ts';
import { until } from '../../../support/until.ts';
import { openTemporaryStore, type TemporaryStore } from '../../../support/world.ts';

export const SILENT = pino({ level: 'silent' });
const monotonicMs = () => SYSTEM_CLOCK.monotonicMs();

/** Makes one JSON-RPC call as clients do; throws the error's message. */
export async function rpc<T>(url: string, method: string, params: unknown[] = []): Promise<T> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
  const response = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
  const answer = (await response.json()) as { result?: T; error?: { message: string } };
  if (answer.error) throw new Error(answer.error.message);
  return answer.result as T;
}

/**
 * A shard's head after its commit number `seq`. `salt` distinguishes heads that should never
 * differ.
 */
export function headOf(index: number, seq: number, salt = ''): ShardHead {
  const hash = createHash('sha256').update(`${index} ${seq} ${salt}`).digest();
  return { seq, version: seq, type: 'inner', hash, count: 2 + seq };
}

/** Creates a collection in a new account. */
export async function newCollection(store: Store, shards = 1, plan: PlanName = 'pro'): Promise<CollectionRow> {
  const createdAt = new Date().toISOString();
  const accountId = randomUUID();
  await store.catalog.createAccount({ id: accountId, name: 'test', plan, createdAt });
  const row: CollectionRow = {
    id: randomUUID(),
    accountId,
    name: 'test',
    dimensions: 4,
    metric: 'cosine',
    shards,
    replicas: 0,
    quantization: 'bf16',
    deletionProtection: false,
    createdAt,
  };
  await store.catalog.createCollection(row, null);
  return row;
}

/** Commits once more to shard `index` and returns the log's new cut. */
export async function commitTo(store: Store, row: CollectionRow, index = 0, salt = ''): Promise<Cut> {
  const heads = await store.log.heads(row.id);
  const head = headOf(index, (heads.get(index)?.seq ?? 0) + 1, salt);
  await store.log.append({
    shard: shardKey(row.id, index),
    seq: head.seq,
    epoch: 1,
    entryId: randomUUID(),
    kind: 'write',
    head,
    tally: null,
    body: new Uint8Array(1),
  });
  return Array.from({ length: row.shards }, (_, at) => (at === index ? head : (heads.get(at) ?? EMPTY_HEAD)));
}

/** A real embedded ledger and a real store in a temporary folder. */
export class AnchoringFixture {
  readonly folder: string;
  readonly devLedger: DevLedger;
  readonly store: Store;
  readonly client: LedgerClient;
  /** Where the client finds the ledger. */
  readonly where: { url: string };
  readonly #opened: TemporaryStore;
  #running: Anchoring[] = [];

  private constructor(opened: TemporaryStore, devLedger: DevLedger, client: LedgerClient, where: { url: string }) {
    this.#opened = opened;
    this.folder = opened.folder;
    this.store = opened.store;
    this.devLedger = devLedger;
    this.client = client;
    this.where = where;
  }

  static async open(): Promise<AnchoringFixture> {
    const opened = await openTemporaryStore();
    const devLedger = await startDevLedger({ dataDir: opened.folder, log: SILENT });
    const where = {
      get url() {
        return devLedger.url;
      },
    };
    const client = await clientOf(opened.folder, where);
    await fundFromEmbeddedLedger(client);
    return new AnchoringFixture(opened, devLedger, client, where);
  }

  /** Creates a collection and confirms its first root, with an instance that then stops. */
  async confirmed(): Promise<{ row: CollectionRow; cut: Cut }> {
    const row = await this.collection();
    const cut = await this.commit(row);
    const anchoring = await this.start();
    await anchoring.submit(row.id, cut, 20_000);
    await anchoring.stop();
    return { row, cut };
  }

  /** The collection's anchor on the ledger; null when it cannot be read. */
  async onChain({ id }: CollectionRow): Promise<AnchoredRoot | null> {
    const account = await this.client.read(id);
    return account.status === 'found' ? account.fields : null;
  }

  /** Starts anchoring. An earlier instance that was not stopped simulates a killed process. */
  async start(options: Partial<AnchoringOptions> = {}): Promise<Anchoring> {
    const anchoring = new Anchoring({
      ledger: this.client,
      store: this.store,
      plans: new PlanBook({ config: readConfig({}), store: this.store, clock: SYSTEM_CLOCK }),
      clock: SYSTEM_CLOCK,
      log: SILENT,
      isShared: false,
      unsound: new Set(),
      headsAt: async (_, cut) => cut,
      tell: () => undefined,
      ...options,
    });
    this.#running.push(anchoring);
    await anchoring.start();
    return anchoring;
  }

  collection(shards = 1, plan: PlanName = 'pro'): Promise<CollectionRow> {
    return newCollection(this.store, shards, plan);
  }

  commit(row: CollectionRow, index = 0, salt = ''): Promise<Cut> {
    return commitTo(this.store, row, index, salt);
  }

  /** Signatures of the transactions that wrote a collection's account, newest first. */
  async signatures(collectionId: string): Promise<string[]> {
    const address = await this.client.address(collectionId);
    const journal = await readFile(join(this.folder, 'ledger', 'journal.ndjson'), 'utf8');
    const lines = journal
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line.slice(9)) as JournalLine);
    return lines
      .flatMap((line) => {
        const wrote = line.kind === 'transaction' && line.accounts.some((account) => account.address === address);
        return wrote ? line.transaction.signature : [];
      })
      .toReversed();
  }

  /** Kills the ledger's process and waits until its successor responds. */
  async killLedger(): Promise<void> {
    const { pid } = this.devLedger;
    process.kill(pid, 'SIGKILL');
    await until('the ledger is back', async () => {
      if (this.devLedger.pid === pid) return false;
      return rpc(this.devLedger.url, 'getHealth').then(
        () => true,
        () => false,
      );
    });
  }

  /** Stops all instances. Some may hang, because they simulate killed processes. */
  async stop(): Promise<void> {
    await Promise.all(this.#running.splice(0).map((anchoring) => Promise.race([anchoring.stop(), delay(50)])));
  }

  async end(): Promise<void> {
    await this.stop();
    await this.devLedger.stop();
    await this.#opened.destroy();
  }
}

/** A ledger client with the keypair of a data directory. */
async function clientOf(folder: string, where: { readonly url: string }): Promise<LedgerClient> {
  const authority = await openAuthority(join(folder, 'ledger-keypair.json'), true, SILENT);
  return new LedgerClient(
    new RpcPool({ embedded: true, urls: () => [where.url] }, monotonicMs),
    authority,
    monotonicMs,
  );
}
