import { Binary, type Collection } from 'mongodb';
import type { LogEntry } from '../log.ts';
import type { Connection } from './connection.ts';
import { idPart, joined, lastNumber, numberPart, under } from './document-id.ts';
import { bytesOf } from './head-codec.ts';
import type { EntryDocument } from './log-entry-codec.ts';
import { nullOnDuplicate } from './store-failure.ts';

/** Documents hold at most 16 MiB. */
const PART_MAX_BYTES = 12 * 1024 * 1024;

interface PartDocument {
  _id: string;
  bytes: Binary;
}

/** Returns the SHA-256, computed on a pool thread. */
export async function digest(body: Uint8Array<ArrayBuffer>): Promise<Uint8Array> {
  return new Uint8Array(await crypto.subtle.digest('SHA-256', body));
}

/**
 * Bodies too large for one document. Their parts are stored before the entry, under its seq and
 * `entryId`, so a stored entry is complete. Parts whose entry was never stored are removed when the
 * log is trimmed past their seq, because by then another entry has that seq.
 */
export class SplitBodies {
  readonly collection: Collection<PartDocument>;

  constructor(connection: Connection) {
    this.collection = connection.collection('log-parts');
  }

  /** Returns the number of parts; 0 if the body fits into the entry. */
  async write(shard: string, { seq, entryId, body }: LogEntry): Promise<number> {
    if (body.byteLength <= PART_MAX_BYTES) return 0;
    const parts = Math.ceil(body.byteLength / PART_MAX_BYTES);
    for (let part = 0; part < parts; part++) {
      const bytes = new Binary(body.subarray(part * PART_MAX_BYTES, (part + 1) * PART_MAX_BYTES));
      // A duplicate key means that an earlier attempt at this same entry stored the part.
      await nullOnDuplicate(this.collection.insertOne({ _id: partId(shard, seq, entryId, part), bytes }));
    }
    return parts;
  }

  /** Returns the body of an entry; null if part of it is missing. */
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

  async remove(shard: string, { seq, entryId }: LogEntry): Promise<void> {
    await this.collection.deleteMany({ _id: under(shard, numberPart(seq), idPart(entryId)) });
  }
}

function partId(shard: string, seq: number, entryId: string, part: number): string {
  return joined(shard, numberPart(seq), idPart(entryId), numberPart(part));
}
