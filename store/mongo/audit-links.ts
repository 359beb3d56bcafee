import type { Collection } from 'mongodb';
import type { CollectionId } from '../../lib/ids.ts';
import { type AuditLinkRow, LISTED_LINKS_MAX, type StoredAuditLinks } from '../audit-links.ts';
import type { Sealed } from '../sealed.ts';
import type { Connection } from './connection.ts';
import { rowIn } from './document-form.ts';
import { idPart, joined, under } from './document-id.ts';
import { deleteRange } from './slices.ts';

export interface AuditLinkDocument {
  /** `<collection>.<id of the link>` */
  _id: string;
  /** Copy of the row's hash, for the index. */
  hash: string;
  row: Sealed<AuditLinkRow>;
}

/** Stores one document per link. */
export class MongoAuditLinks implements StoredAuditLinks {
  readonly #connection: Connection;
  readonly #documents: Collection<AuditLinkDocument>;

  constructor(connection: Connection) {
    this.#connection = connection;
    this.#documents = connection.collection('audit-links');
  }

  async create(row: Sealed<AuditLinkRow>, maxLinks: number): Promise<'created' | 'limit'> {
    if ((await this.#documents.countDocuments({ _id: under(idPart(row.collectionId)) })) >= maxLinks) return 'limit';
    await this.#documents.insertOne({ _id: auditLinkId(row), hash: row.hash, row: { ...row } });
    return 'created';
  }

  async findByHash(hash: string): Promise<Sealed<AuditLinkRow> | null> {
    const found = await this.#documents.findOne({ hash });
    return found && rowIn(found);
  }

  async list(collectionId: CollectionId): Promise<Sealed<AuditLinkRow>[]> {
    const found = this.#documents.find({ _id: under(idPart(collectionId)) }).limit(LISTED_LINKS_MAX);
    return (await found.toArray()).map((document) => rowIn(document));
  }

  async remove(collectionId: CollectionId, id: string): Promise<boolean> {
    return (await this.#documents.deleteOne({ _id: auditLinkId({ collectionId, id }) })).deletedCount > 0;
  }

  async removeAll(collectionId: CollectionId): Promise<void> {
    await deleteRange(this.#connection, this.#documents, under(idPart(collectionId)));
  }
}

export const auditLinkId = ({ collectionId, id }: Pick<AuditLinkRow, 'collectionId' | 'id'>): string =>
  joined(idPart(collectionId), idPart(id));
