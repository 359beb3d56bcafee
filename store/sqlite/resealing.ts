import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { lastOf } from '../../lib/checked-access.ts';
import type { StoreKeys } from '../../lib/secret/keyring.ts';
import { Seals } from '../../lib/secret/seals.ts';
import type { ShardKey } from '../../lib/shard/key.ts';
import { resealedMark } from '../first-key.ts';
import { ForgedRows } from '../forged-rows.ts';
import { StoreError } from '../port.ts';
import type { StoredRow, StoredSeals, StoreToReseal } from '../resealing.ts';
import { isInstallationSeal } from '../store-mark.ts';
import { anchorsOf } from './anchors.ts';
import { checkpointRows, replaceManifestSeal } from './checkpoint-manifests.ts';
import { readFormatFile, writeFormat } from './format-file.ts';
import { logOf } from './log.ts';
import { recordsOf } from './records.ts';
import type { Remote, Role } from './requests.ts';
import { sqliteFailure } from './store-failure.ts';
import { StoreThread } from './store-thread.ts';
import type { RowWithNumber } from './thread/reseal-tables.ts';

/**
 * Opens the embedded store in `folder` for resealing under the first of the secrets. `trustsLog`:
 * read its log without verifying seals. The caller must hold the lock of the data directory. Throws
 * StoreError.
 */
export async function openSqliteToReseal(folder: string, keys: StoreKeys, trustsLog: boolean): Promise<StoreToReseal> {
  const threads: StoreThread[] = [];
  try {
    if ((await readFormatFile(folder)) === null || !existsSync(join(folder, 'log.db')))
      throw new StoreError('damaged', `There is no store in ${folder}.`);
    const resealing = { trustsLog };
    const opening = { folder, keys, made: true, maxPages: null, resealing };
    const open = async (role: Role): Promise<StoreThread> => {
      const thread = await StoreThread.open({ ...opening, role });
      threads.push(thread);
      return thread;
    };
    const log = await open('log');
    const records = await open('records');
    return {
      log: logOf(log),
      records: recordsOf(records),
      anchors: anchorsOf(log, new ForgedRows()),
      contradictions: log.remote('contradictions'),
      leases: log.remote('leases'),
      seals: new SqliteSeals(folder, keys, log.remote('reseal')),
      close: () => closeAll(threads),
    };
  } catch (error) {
    await closeAll(threads);
    throw sqliteFailure(error, `opening ${folder}`);
  }
}

async function closeAll(threads: StoreThread[]): Promise<void> {
  await Promise.all(threads.map((thread) => thread.close()));
}

/** Each write is one commit or one file rename, so there is never a half-finished state. */
class SqliteSeals implements StoredSeals {
  readonly #folder: string;
  readonly #installation: Seals;
  readonly #tables: Remote<'reseal'>;

  constructor(folder: string, keys: StoreKeys, tables: Remote<'reseal'>) {
    this.#folder = folder;
    this.#installation = new Seals(keys.installation);
    this.#tables = tables;
  }

  async matchesInstallation(): Promise<boolean> {
    return isInstallationSeal(this.#installation, (await readFormatFile(this.#folder))?.installation);
  }

  async *rows(): AsyncIterable<StoredRow[]> {
    for (const kind of ['plan', 'account', 'alias', 'collection', 'API key', 'audit entry', 'audit link'] as const)
      yield* numbered((after) => this.#tables.rowsAfter(kind, after));
    for await (const rows of checkpointRows(join(this.#folder, 'checkpoints')))
      yield rows.map((row) => ({ kind: 'checkpoint' as const, isInPlace: true, row }));
  }

  shards(): AsyncIterable<ShardKey[]> {
    return numbered(this.#tables.shardsAfter);
  }

  async begin(): Promise<void> {}

  async replaceSeal({ kind, row }: StoredRow, seal: string): Promise<boolean> {
    if (kind === 'audit entry') return this.#tables.replaceAuditSeal(row, seal);
    if (kind === 'plan') return this.#tables.replacePlanSeal(row, seal);
    if (kind !== 'checkpoint') return this.#tables.replaceSeal(kind, row.id, row.seal, seal);
    try {
      return await replaceManifestSeal(row, row.seal, seal);
    } catch (error) {
      throw sqliteFailure(error, 'sealing a checkpoint');
    }
  }

  resealLog(shard: ShardKey, { trustsLog, writes }: { trustsLog: boolean; writes: boolean }) {
    return writes ? this.#tables.resealLog(shard, trustsLog) : this.#tables.lookAtLog(shard, trustsLog);
  }

  async finish(): Promise<void> {
    const firstKey = resealedMark(this.#installation, (await readFormatFile(this.#folder))?.firstKey);
    await writeFormat(this.#folder, this.#installation, firstKey);
  }
}

async function* numbered<Row>(read: (after: number) => Promise<RowWithNumber<Row>[]>): AsyncIterable<Row[]> {
  for (let after = Number.MIN_SAFE_INTEGER; ; ) {
    const page = await read(after);
    if (page.length === 0) return;
    yield page.map(({ row }) => row);
    after = lastOf(page).number;
  }
}
