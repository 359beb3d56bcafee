import { type Collection, MongoBulkWriteError } from 'mongodb';
import type { AuditRow, StoredAudit } from '../audit.ts';
import type { Sealed } from '../sealed.ts';
import type { Connection } from './connection.ts';
import { idPart, joined, lastNumber, numberPart, under } from './document-id.ts';
import { isDuplicateKey } from './store-failure.ts';

export interface AuditDocument extends Sealed<AuditRow> {
  /** `<trail>.<position>` */
  _id: string;
}

/** Stores one document per entry; the `_id` decides which of two entries gets a position. */
export class MongoAudit implements StoredAudit {
  readonly #documents: Collection<AuditDocument>;

  constructor(connection: Connection) {
    this.#documents = connection.collection('audit');
  }

  async append(rows: readonly Sealed<AuditRow>[]): Promise<number> {
    const documents = rows.map((row) => ({ _id: auditId(row.trail, row.seq), ...row }));
    try {
      return (await this.#documents.insertMany(documents, { ordered: true })).insertedCount;
    } catch (error) {
      if (isDuplicateKey(error) && error instanceof MongoBulkWriteError) return error.insertedCount;
      throw error;
    }
  }

  async last(trail: string): Promise<Sealed<AuditRow> | null> {
    const [found] = await this.#documents.find(allOf(trail)).sort({ _id: -1 }).limit(1).toArray();
    return found === undefined ? null : auditRowOf(found);
  }

  async page(trail: string, from: number, limit: number): Promise<Sealed<AuditRow>[]> {
    const range = { ...under(idPart(trail)), $gte: auditId(trail, from) };
    const found = await this.#documents.find({ _id: range }).sort({ _id: 1 }).limit(limit).toArray();
    return found.map(auditRowOf);
  }

  async trim(trail: string, before: number): Promise<void> {
    await this.#documents.deleteMany({ _id: { ...under(idPart(trail)), $lt: auditId(trail, before) } });
  }
}

const allOf = (trail: string) => ({ _id: under(idPart(trail)) });

export const auditId = (trail: string, seq: number): string => joined(idPart(trail), numberPart(seq));

/** Returns the row at its `_id`'s position. Values of other types become ''. */
export function auditRowOf({ _id, trail, previous, entry, seal }: AuditDocument): Sealed<AuditRow> {
  return {
    trail: textOrNothing(trail),
    seq: lastNumber(_id),
    previous: textOrNothing(previous),
    entry: textOrNothing(entry),
    seal: textOrNothing(seal),
  };
}

const textOrNothing = (value: unknown): string => (typeof value === 'string' ? value : '');
