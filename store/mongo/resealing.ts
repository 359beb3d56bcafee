import type { Collection } from 'mongodb';
import type { StoreKeys } from '../../lib/secret/keyring.ts';
import { Seals } from '../../lib/secret/seals.ts';
import { type ShardKey, shardKey } from '../../lib/shard/key.ts';
import { resealedMark } from '../first-key.ts';
import type { KeyRow } from '../keys.ts';
import { type LogFindings, UnverifiedLogSeals } from '../log-resealing.ts';
import { LogSeals } from '../log-seals.ts';
import { StoreError } from '../port.ts';
import type { ResealLogOptions, StoredRow, StoredSeals, StoreToReseal } from '../resealing.ts';
import type { Sealed } from '../sealed.ts';
import { installationSeal, isInstallationSeal } from '../store-mark.ts';
import type { AliasDocument } from './aliases.ts';
import { MongoAnchors } from './anchors.ts';
import { type AuditDocument, auditId, auditRowOf } from './audit.ts';
import { type AuditLinkDocument, auditLinkId } from './audit-links.ts';
import { type AccountDocument, type CollectionDocument, stateOf } from './catalog.ts';
import type { GridManifest } from './checkpoints.ts';
import { Connection, type ConnectionOptions } from './connection.ts';
import { mongoContradictions } from './contradictions.ts';
import { idPart, joined } from './document-id.ts';
import { FORMAT_ID, formatCollection, readFormat } from './format.ts';
import { guarded } from './guarded.ts';
import type { AccountKeys } from './keys.ts';
import { MongoLog } from './log.ts';
import { LogRelinking, type LogRelinkingOptions } from './log-relinking.ts';
import { type LogShardDocument, LogShards } from './log-shards.ts';
import { mongoLeases } from './owners.ts';
import type { PlanDocument } from './plans.ts';
import { MongoRecords } from './records.ts';
import { checkSchema } from './schema.ts';
import { pagesOf } from './slices.ts';
import { mongoFailure } from './store-failure.ts';
import { TallyFolding } from './tally-folding.ts';

const CALL_TIMEOUT_MS = 10_000;
const PAGE_DOCUMENTS = 500;
const ROWS = { account: 'accounts', alias: 'collections', collection: 'collections' } as const;
const COLLECTION_AND_INDEX = /^([0-9a-f-]{36})\.(\d{3})$/;

export interface MongoToResealOptions extends LogRelinkingOptions, Pick<ConnectionOptions, 'url'> {
  keys: StoreKeys;
  /** Whether the log is read without verifying its seals. */
  trustsLog: boolean;
  callTimeoutMs?: number;
}

/**
 * Opens the store of a database for resealing under the first of the secrets. Writes nothing.
 * Throws StoreError.
 */
export async function openMongoToReseal(options: MongoToResealOptions): Promise<StoreToReseal> {
  const { url, keys, trustsLog, callTimeoutMs = CALL_TIMEOUT_MS } = options;
  const connection = new Connection({ url, callTimeoutMs });
  try {
    if ((await readFormat(connection)) === null) throw new StoreError('damaged', 'There is no store in the database.');
    await checkSchema(connection.db);
    const shards = new LogShards(connection);
    const folding = new TallyFolding(connection, shards);
    const logSeals = trustsLog ? new UnverifiedLogSeals(keys.log) : new LogSeals(keys.log);
    const relinking = new LogRelinking(connection, shards, keys.log, options);
    return {
      log: guarded(connection, 'log', new MongoLog(connection, shards, folding, logSeals)),
      records: guarded(connection, 'records', new MongoRecords(connection, Number.POSITIVE_INFINITY)),
      anchors: guarded(connection, 'anchors', new MongoAnchors(connection)),
      contradictions: guarded(connection, 'contradictions', mongoContradictions(connection)),
      leases: guarded(connection, 'leases', mongoLeases(connection)),
      seals: new MongoSeals(connection, new Seals(keys.installation), relinking),
      close: () => connection.close(),
    };
  } catch (error) {
    await connection.close();
    throw mongoFailure(error, 'read', 'opening the store');
  }
}

/**
 * Each write covers one document, except for logs (log-relinking.ts). From `begin` to `finish` the
 * format document has `resealing`, and no service starts.
 */
class MongoSeals implements StoredSeals {
  readonly #connection: Connection;
  readonly #installation: Seals;
  readonly #relinking: LogRelinking;
  readonly #accounts: Collection<AccountDocument>;
  readonly #collections: Collection<CollectionDocument | AliasDocument>;
  readonly #plans: Collection<PlanDocument>;
  readonly #keys: Collection<AccountKeys>;
  readonly #checkpoints: Collection<GridManifest>;
  readonly #audit: Collection<AuditDocument>;
  readonly #auditLinks: Collection<AuditLinkDocument>;

  constructor(connection: Connection, installation: Seals, relinking: LogRelinking) {
    this.#connection = connection;
    this.#installation = installation;
    this.#relinking = relinking;
    this.#accounts = connection.collection('accounts');
    this.#collections = connection.collection('collections');
    this.#plans = connection.collection('plans');
    this.#keys = connection.collection('account-keys');
    this.#checkpoints = connection.collection('checkpoints');
    this.#audit = connection.collection('audit');
    this.#auditLinks = connection.collection('audit-links');
  }

  async matchesInstallation(): Promise<boolean> {
    const found = await this.#connection.run('read', 'reading the format', () => readFormat(this.#connection));
    return isInstallationSeal(this.#installation, found?.installation);
  }

  async *rows(): AsyncIterable<StoredRow[]> {
    for await (const page of this.#pages(this.#plans)) yield page.map(planOf);
    for await (const page of this.#pages(this.#accounts)) yield page.map(accountOf);
    for await (const page of this.#pages(this.#collections)) yield page.map(collectionOf);
    for await (const page of this.#pages(this.#keys)) yield page.flatMap(keysOf);
    for await (const page of this.#pages(this.#audit)) yield page.map(auditEntryOf);
    for await (const page of this.#pages(this.#auditLinks)) yield page.map(auditLinkOf);
    for await (const page of this.#pages(this.#checkpoints)) yield page.flatMap(checkpointOf);
  }

  async *shards(): AsyncIterable<ShardKey[]> {
    const shards = this.#connection.collection<LogShardDocument>('log-shards');
    for await (const page of this.#pages(shards)) yield page.flatMap(({ _id }) => shardOf(_id) ?? []);
  }

  async begin(): Promise<void> {
    await this.#connection.run('write', 'starting to reseal', async () => {
      const relinking = (await readFormat(this.#connection))?.resealing?.relinking ?? null;
      const formats = formatCollection(this.#connection);
      await formats.updateOne({ _id: FORMAT_ID }, { $set: { resealing: { relinking } } });
      await this.#relinking.complete(relinking);
      await formats.updateOne({ _id: FORMAT_ID }, { $set: { resealing: { relinking: null } } });
    });
  }

  async replaceSeal(stored: StoredRow, seal: string): Promise<boolean> {
    return this.#connection.run('write', 'sealing a row', async () => {
      const { matchedCount } = await this.#replaceSeal(stored, seal);
      return matchedCount > 0;
    });
  }

  resealLog(shard: ShardKey, options: ResealLogOptions): Promise<LogFindings> {
    return this.#connection.run('write', 'sealing a log', () => this.#relinking.reseal(shard, options));
  }

  async finish(): Promise<void> {
    const installation = installationSeal(this.#installation);
    await this.#connection.run('write', 'finishing to reseal', async () => {
      const firstKey = resealedMark(this.#installation, (await readFormat(this.#connection))?.firstKey);
      await formatCollection(this.#connection).updateOne(
        { _id: FORMAT_ID },
        { $set: { installation, ...(firstKey && { firstKey }) }, $unset: { resealing: '' as const } },
      );
    });
  }

  #replaceSeal({ kind, row }: StoredRow, seal: string) {
    if (kind === 'API key') return this.#replaceKeySeal(row, seal);
    if (kind === 'plan')
      return this.#plans.updateOne({ _id: idPart(row.name), 'row.seal': row.seal }, { $set: { 'row.seal': seal } });
    if (kind === 'audit entry')
      return this.#audit.updateOne({ _id: auditId(row.trail, row.seq), seal: row.seal }, { $set: { seal } });
    if (kind === 'audit link')
      return this.#auditLinks.updateOne(
        { _id: auditLinkId(row), 'row.seal': row.seal },
        { $set: { 'row.seal': seal } },
      );
    if (kind === 'checkpoint') return this.#checkpoints.updateOne({ _id: row.id, seal: row.seal }, { $set: { seal } });
    const rows = this.#connection.collection<AccountDocument | CollectionDocument>(ROWS[kind]);
    return rows.updateOne({ _id: idPart(row.id), 'row.seal': row.seal }, { $set: { 'row.seal': seal } });
  }

  async #replaceKeySeal({ id, accountId, seal: before }: Sealed<KeyRow>, seal: string) {
    const _id = idPart(accountId);
    const keys = (await this.#keys.findOne({ _id }))?.keys ?? [];
    // Not by the operator `$`, which some servers lack.
    const field = `keys.${keys.findIndex((key) => key.id === id && key.seal === before)}.seal`;
    return this.#keys.updateOne({ _id, [field]: before }, { $set: { [field]: seal } });
  }

  #pages<T extends { _id: string }>(collection: Collection<T>): AsyncIterable<T[]> {
    return pagesOf(this.#connection, collection, {}, PAGE_DOCUMENTS);
  }
}

function shardOf(id: string): ShardKey | null {
  const [, collectionId, index] = COLLECTION_AND_INDEX.exec(id) ?? [];
  return collectionId === undefined ? null : shardKey(collectionId, Number(index));
}

/** Returns an id as it appears in `_id`s; null if it is not a valid id. */
const partOf = (id: unknown): string | null => (typeof id === 'string' && id.isWellFormed() ? idPart(id) : null);

function accountOf(document: AccountDocument): StoredRow {
  const { _id, row } = document;
  return { kind: 'account', state: stateOf(document), isInPlace: partOf(row?.id) === _id, row: { ...row } };
}

function collectionOf(document: CollectionDocument | AliasDocument): StoredRow {
  if (document.state === 'alias') return aliasOf(document);
  const { _id, state, account, place, row } = document;
  const owner = partOf(row?.accountId);
  const name = partOf(row?.name);
  const ownPlace = state === 'live' ? owner !== null && name !== null && joined(owner, name) === place : place === _id;
  const isInPlace = partOf(row?.id) === _id && owner === account && ownPlace;
  return { kind: 'collection', state: state === 'live' ? 'live' : 'dropped', isInPlace, row: { ...row } };
}

function aliasOf({ _id, account, place, row }: AliasDocument): StoredRow {
  const owner = partOf(row?.accountId);
  const alias = partOf(row?.alias);
  const ownPlace = owner !== null && alias !== null && joined(owner, alias) === place;
  const isInPlace = partOf(row?.id) === _id && owner === account && ownPlace;
  return { kind: 'alias', isInPlace, row: { ...row } };
}

function planOf({ _id, row }: PlanDocument): StoredRow {
  return { kind: 'plan', isInPlace: partOf(row?.name) === _id, row: { ...row } };
}

function keysOf({ _id, keys }: AccountKeys): StoredRow[] {
  if (!Array.isArray(keys)) return [];
  return keys.map((row) => ({ kind: 'API key', isInPlace: partOf(row?.accountId) === _id, row: { ...row } }));
}

function auditEntryOf(document: AuditDocument): StoredRow {
  const row = auditRowOf(document);
  const isPlaced = row.trail.isWellFormed() && Number.isSafeInteger(row.seq);
  const isInPlace = isPlaced && document._id === auditId(row.trail, row.seq);
  return { kind: 'audit entry', isInPlace, row };
}

function auditLinkOf({ _id, hash, row }: AuditLinkDocument): StoredRow {
  const collection = partOf(row?.collectionId);
  const id = partOf(row?.id);
  const isPlaced = collection !== null && id !== null && joined(collection, id) === _id;
  return { kind: 'audit link', isInPlace: isPlaced && row.hash === hash, row: { ...row } };
}

function checkpointOf({ _id, state, seq, bytes, createdAt, files, seal }: GridManifest): StoredRow[] {
  const shard = shardOf(_id.slice(0, _id.indexOf('.') + 4));
  if (state !== 'whole' || shard === null || !Array.isArray(files)) return [];
  const row = { id: _id, shard, seq, bytes, createdAt, files, seal };
  return [{ kind: 'checkpoint', isInPlace: true, row }];
}
