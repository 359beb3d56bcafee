import type { Collection } from 'mongodb';
import type { ShardKey } from '../../shard/key.ts';
import type { Holder, LeaseRow, LeaseStore, LeaseUse, OwnerRow, OwnerStore } from '../owners.ts';
import type { Connection } from './connection.ts';
import { idPart, shardPart, under } from './document-id.ts';
import { damaged, isDuplicateKey } from './store-failure.ts';

interface OwnerDocument {
  _id: string;
  row: OwnerRow;
}

/** One document per shard that was ever claimed, changed by compare-and-set on its epoch. */
export class MongoOwners implements OwnerStore {
  readonly #connection: Connection;
  readonly #rows: Collection<OwnerDocument>;

  constructor(connection: Connection) {
    this.#connection = connection;
    this.#rows = connection.collection('owners');
  }

  async get(shard: ShardKey): Promise<OwnerRow | null> {
    const _id = shardPart(shard);
    return this.#connection.run('read', 'reading an owner', async () => {
      const found = await this.#rows.findOne({ _id });
      return found && decodeOwner(found);
    });
  }

  async list(collectionId: string): Promise<OwnerRow[]> {
    const shards = under(idPart(collectionId));
    return this.#connection.run('read', 'reading owners', async () => {
      const found = await this.#rows.find({ _id: shards }).sort({ _id: 1 }).toArray();
      return found.map(decodeOwner);
    });
  }

  async claim({ shard, epoch, holder }: OwnerRow): Promise<boolean> {
    const _id = shardPart(shard);
    const row = { shard, epoch, holder: holder && holderOf(holder) };
    return this.#connection.run('write', 'claiming a shard', async () => {
      if (epoch !== 1) return (await this.#rows.replaceOne({ _id, 'row.epoch': epoch - 1 }, { row })).matchedCount > 0;
      try {
        await this.#rows.insertOne({ _id, row });
        return true;
      } catch (error) {
        if (isDuplicateKey(error)) return false;
        throw error;
      }
    });
  }

  async release(shard: ShardKey, epoch: number, to?: Holder): Promise<void> {
    const _id = shardPart(shard);
    await this.#connection.run('write', 'releasing a shard', () =>
      this.#rows.updateOne({ _id, 'row.epoch': epoch }, { $set: { 'row.holder': to ? holderOf(to) : null } }),
    );
  }

  /** Part of dropping a collection. */
  async remove(collectionId: string): Promise<void> {
    await this.#rows.deleteMany({ _id: under(idPart(collectionId)) });
  }
}

interface LeaseDocument {
  _id: string;
  row: LeaseRow;
}

/** One document per incarnation. */
export class MongoLeases implements LeaseStore {
  readonly #connection: Connection;
  readonly #rows: Collection<LeaseDocument>;

  constructor(connection: Connection) {
    this.#connection = connection;
    this.#rows = connection.collection('leases');
  }

  async begin(row: LeaseRow): Promise<void> {
    const { beat, draining, process, use } = row;
    const lease = { ...holderOf(row), beat, draining, process: { ...process }, ...(use && { use: { ...use } }) };
    await this.#connection.run('write', 'beginning a lease', async () => {
      try {
        await this.#rows.insertOne({ _id: idPart(row.incarnation), row: lease });
      } catch (error) {
        if (!isDuplicateKey(error)) throw error;
      }
    });
  }

  async renew(incarnation: string, beat: number, draining: boolean, use?: LeaseUse): Promise<boolean> {
    const _id = idPart(incarnation);
    return this.#connection.run('write', 'renewing a lease', async () => {
      const $set = { 'row.draining': draining, ...(use && { 'row.use': { ...use } }) };
      return (await this.#rows.updateOne({ _id }, { $max: { 'row.beat': beat }, $set })).matchedCount > 0;
    });
  }

  async list(): Promise<LeaseRow[]> {
    return this.#connection.run('read', 'reading leases', async () => {
      const found = await this.#rows.find().sort({ _id: 1 }).toArray();
      return found.map(({ row }) => row);
    });
  }

  async get(incarnations: readonly string[]): Promise<LeaseRow[]> {
    return this.#connection.run('read', 'reading leases', async () => {
      const found = await this.#rows.find({ _id: { $in: incarnations.map(idPart) } }).toArray();
      return found.map(({ row }) => row);
    });
  }

  async end(incarnation: string, beat?: number): Promise<boolean> {
    const _id = idPart(incarnation);
    return this.#connection.run('write', 'ending a lease', async () => {
      const { deletedCount } = await this.#rows.deleteOne(beat === undefined ? { _id } : { _id, 'row.beat': beat });
      return deletedCount > 0 || beat === undefined || (await this.#rows.findOne({ _id })) === null;
    });
  }
}

function holderOf({ node, incarnation }: Holder): Holder {
  return { node, incarnation };
}

function decodeOwner({ row }: OwnerDocument): OwnerRow {
  if (!Number.isSafeInteger(row?.epoch) || typeof row.shard !== 'string') throw damaged('An owner');
  return row;
}
