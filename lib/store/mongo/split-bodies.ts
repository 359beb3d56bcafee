import { Binary, type Collection } from 'mongodb';
import type { LogEntry } from '../log.ts';
import type { Connection } from './connection.ts';
import { idPart, joined, lastNumber, numberPart, under } from './document-id.ts';
import { bytesOf } from './head-codec.ts';
import type { EntryDocument } from './log-entry-codec.ts';
import { unlessTaken } from './store-failure.ts';

/** A server takes documents of up to 16 MiB. */
const PART_MAX_BYTES = 12 * 1024 * 1024;

interface PartDocument {
  _id: string;
  bytes: Binary;
}

/** SHA-256 in a thread of the pool. */
export async function digest(body: Uint8Array): Promise<Uint8Array> {
  return new Uint8Array(await crypto.subtle.digest('SHA-256', body as Uint8Array<ArrayBuffer>));
}

/**
 * Bodies too large for one document. Their parts are stored before the entry, under its seq and its
 * `entryId`, so an entry that is there is whole. Parts whose entry never came are removed when the
 * log is trimmed past their seq: by then another entry has taken it.
 */
export class SplitBodies {
  readonly collection: Collection<PartDocument>;

  constructor(connection: Connection) {
    this.collection = connection.collection('log-parts');
  }

  /** The number of parts; 0 when the body fits into the entry. */
  async write(shard: string, { seq, entryId, body }: LogEntry): Promise<number> {
    if (body.byteLength <= PART_MAX_BYTES) return 0;
    const parts = Math.ceil(body.byteLength / PART_MAX_BYTES);
    for (let part = 0; part < parts; part++) {
      const bytes = new Binary(body.subarray(part * PART_MAX_BYTES, (part + 1) * PART_MAX_BYTES));
      // Where it is there already, an earlier attempt at this very entry stored it.
      await unlessTaken(this.collection.insertOne({ _id: partId(shard, seq, entryId, part), bytes }));
    }
    return parts;
  }

  /** The body of an entry, wherever it lies; null where not all of it is there. */
  async bodyOf(shard: string, { _id, entryId, parts, bodyBytes, body: inEntry }: EntryDocument) {
    if (parts === undefined) {
      const bytes = bytesOf(inEntry);
      return bytes?.byteLength === bodyBytes ? bytes : null;
    }
    const body = new Uint8Array(bodyBytes);
    let at = 0;
    for (let part = 0; part < parts; part++) {
      const found = await this.collection.findOne({ _id: partId(shard, lastNumber(_id), entryId, part) });
      const bytes = bytesOf(found?.bytes);
      if (bytes === null || at + bytes.byteLength > bodyBytes) return null;
      body.set(bytes, at);
      at += bytes.byteLength;
    }
    return at === bodyBytes ? body : null;
  }

  /** Removes the parts of an entry that was not appended. */
  async remove(shard: string, { seq, entryId }: LogEntry): Promise<void> {
    await this.collection.deleteMany({ _id: under(shard, numberPart(seq), idPart(entryId)) });
  }
}

function partId(shard: string, seq: number, entryId: string, part: number): string {
  return joined(shard, numberPart(seq), idPart(entryId), numberPart(part));
}
