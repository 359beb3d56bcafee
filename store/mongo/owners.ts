import type { CollectionId } from '../../lib/ids.ts';
import type { Holder, LeaseRow, LeaseStore, OwnerRow, OwnerStore } from '../owners.ts';
import type { Connection } from './connection.ts';
import { fields, flag, nullable, number, optional, text, validated, whole } from './document-form.ts';
import { idPart, shardPart, under } from './document-id.ts';
import { nullOnDuplicate } from './store-failure.ts';

interface OwnerDocument {
  _id: string;
  row: OwnerRow;
}

interface LeaseDocument {
  _id: string;
  row: LeaseRow;
}

/** `remove` deletes all owners of a collection. Part of dropping it. */
export type DroppableOwners = OwnerStore & { remove(collectionId: CollectionId): Promise<void> };

/** Stores one document per shard that was ever claimed, changed by compare-and-set on its epoch. */
export function mongoOwners(connection: Connection): DroppableOwners {
  const rows = connection.collection<OwnerDocument>('owners');
  return {
    async get(shard) {
      const found = await rows.findOne({ _id: shardPart(shard) });
      return found && decodeOwner(found);
    },

    async list(collectionId) {
      const shards = under(idPart(collectionId));
      return (await rows.find({ _id: shards }).sort({ _id: 1 }).toArray()).map(decodeOwner);
    },

    async claim({ shard, epoch, holder }) {
      const _id = shardPart(shard);
      const row = { shard, epoch, holder: holder && holderOf(holder) };
      if (epoch === 1) return (await nullOnDuplicate(rows.insertOne({ _id, row }))) !== null;
      return (await rows.replaceOne({ _id, 'row.epoch': epoch - 1 }, { row })).matchedCount > 0;
    },

    async release(shard, epoch, to) {
      const $set = { 'row.holder': to ? holderOf(to) : null };
      await rows.updateOne({ _id: shardPart(shard), 'row.epoch': epoch }, { $set });
    },

    async remove(collectionId) {
      await rows.deleteMany({ _id: under(idPart(collectionId)) });
    },
  };
}

/** Stores leases, one document for each run of a node (its incarnation). */
export function mongoLeases(connection: Connection): LeaseStore {
  const rows = connection.collection<LeaseDocument>('leases');
  return {
    async begin(row) {
      const { beat, draining, process, use } = row;
      const lease = { ...holderOf(row), beat, draining, process: { ...process }, ...(use && { use: { ...use } }) };
      await nullOnDuplicate(rows.insertOne({ _id: idPart(row.incarnation), row: lease }));
    },

    async renew(incarnation, beat, draining, use) {
      const $set = { 'row.draining': draining, ...(use && { 'row.use': { ...use } }) };
      const renewed = await rows.updateOne({ _id: idPart(incarnation) }, { $max: { 'row.beat': beat }, $set });
      return renewed.matchedCount > 0;
    },

    async list() {
      return (await rows.find().sort({ _id: 1 }).toArray()).map(leaseIn);
    },

    async get(incarnations) {
      const found = await rows.find({ _id: { $in: incarnations.map(idPart) } }).toArray();
      return found.map(leaseIn);
    },

    async end(incarnation, beat) {
      const _id = idPart(incarnation);
      const { deletedCount } = await rows.deleteOne(beat === undefined ? { _id } : { _id, 'row.beat': beat });
      return deletedCount > 0 || beat === undefined || (await rows.findOne({ _id })) === null;
    },
  };
}

function holderOf({ node, incarnation }: Holder): Holder {
  return { node, incarnation };
}

function decodeOwner({ row }: OwnerDocument): OwnerRow {
  return validated(row, OWNER, 'An owner');
}

const HOLDER = { node: text, incarnation: text };
const OWNER = fields({ shard: text, epoch: whole, holder: nullable(fields(HOLDER)) });
const USE = { bytes: number, memoryLimitBytes: number, load: number, workers: number, silenceMs: optional(number) };
const PROCESS = fields({ pid: number, startedAt: nullable(text), place: text });
const LEASE = fields({ ...HOLDER, beat: whole, process: PROCESS, draining: flag, use: optional(fields(USE)) });

function leaseIn({ row }: LeaseDocument): LeaseRow {
  return validated(row, LEASE, 'A lease');
}
