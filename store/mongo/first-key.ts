import type { StoredFirstKey, StoredFirstKeyMark } from '../first-key.ts';
import type { Connection } from './connection.ts';
import { idPart } from './document-id.ts';
import { FORMAT_ID, formatCollection, readFormat } from './format.ts';

/** Collections in which any document proves earlier use. */
const TRACES = [
  'collections',
  'plans',
  'log',
  'log-parts',
  'log-shards',
  'records',
  'record-shards',
  'checkpoints',
  'checkpoint-files.files',
  'anchors',
  'anchor-history',
  'contradictions',
  'owners',
];

/** The mark is part of the format document. */
export class MongoFirstKey implements StoredFirstKey {
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  async read(): Promise<unknown> {
    return (await readFormat(this.#connection))?.firstKey;
  }

  async write(mark: StoredFirstKeyMark): Promise<void> {
    await formatCollection(this.#connection).updateOne({ _id: FORMAT_ID }, { $set: { firstKey: mark } });
  }

  async replace(before: string | null, mark: StoredFirstKeyMark): Promise<void> {
    // A null also finds a document without the field.
    const found = before === null ? { firstKey: null } : { 'firstKey.seal': before };
    await formatCollection(this.#connection).updateOne({ _id: FORMAT_ID, ...found }, { $set: { firstKey: mark } });
  }

  async isUsed(besides: string): Promise<boolean> {
    const another = { _id: { $ne: idPart(besides) } };
    if (await this.#hasAny('accounts', another)) return true;
    if (await this.#hasAny('account-keys', another)) return true;
    // Earlier versions deleted `besides` after a refused first start, which leaves a document that
    // marks its usage as deleted.
    if (await this.#hasAny('usage', { $or: [another, { deleted: { $ne: true } }] })) return true;
    for (const name of TRACES) if (await this.#hasAny(name, {})) return true;
    return false;
  }

  async #hasAny(name: string, filter: object): Promise<boolean> {
    const documents = this.#connection.collection(name);
    return (await documents.findOne(filter, { projection: { _id: 1 } })) !== null;
  }
}
