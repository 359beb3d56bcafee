import type { Collection } from 'mongodb';
import type { ShardKey } from '../../shard/key.ts';
import type { LinkedSeq, LogSeals } from '../log-seals.ts';
import { lastNumber, numbered, shardPart } from './document-id.ts';
import { decodeEntry, type EntryDocument } from './log-entry-codec.ts';
import type { SplitBodies } from './split-bodies.ts';

/** SHA-256 in a thread of the pool. */
export async function digest(body: Uint8Array): Promise<Uint8Array> {
  return new Uint8Array(await crypto.subtle.digest('SHA-256', body as Uint8Array<ArrayBuffer>));
}

/**
 * The seq of the first entry after `trimmed` through `throughSeq` that is not what was appended
 * there; null when all are sound. One document at a time is in memory.
 */
export async function auditEntries(
  entries: Collection<EntryDocument>,
  bodies: SplitBodies,
  seals: LogSeals,
  shard: ShardKey,
  trimmed: number,
  throughSeq: number,
): Promise<number | null> {
  const part = shardPart(shard);
  let last: LinkedSeq | null = null;
  const documents = entries.find({ _id: numbered(part, trimmed + 1, throughSeq) }).sort({ _id: 1 });
  for await (const document of documents) {
    const seq = lastNumber(document._id);
    const body = await bodies.bodyOf(part, document);
    const linked = decodeEntry(shard, document);
    if (body === null || linked === null) return seq;
    const altered = seals.firstAltered([{ ...linked, bodyHash: await digest(body) }], last);
    if (altered !== null) return altered;
    last = { seq, link: linked.link };
  }
  return null;
}
