import type { Collection } from 'mongodb';
import type { ShardKey } from '../../shard/shard-key.ts';
import { firstAltered, type LinkedEntry, type LinkedSeq } from '../log-link.ts';
import { lastNumber, numbered, shardPart } from './document-id.ts';
import { bytesOf } from './head-codec.ts';
import { decodeEntry, type EntryDocument } from './log-entry-codec.ts';
import type { SplitBodies } from './split-bodies.ts';

const NOTHING = new Uint8Array(0);

/** SHA-256 in a thread of the pool. */
export async function digest(body: Uint8Array): Promise<Uint8Array> {
  return new Uint8Array(await crypto.subtle.digest('SHA-256', body as Uint8Array<ArrayBuffer>));
}

/** The seq of the first entry after `trimmed` through `throughSeq` that is not what was appended there; null when all are sound. One document at a time is in memory. */
export async function auditEntries(
  entries: Collection<EntryDocument>,
  bodies: SplitBodies,
  shard: ShardKey,
  trimmed: number,
  throughSeq: number,
): Promise<number | null> {
  const part = shardPart(shard);
  let last: LinkedSeq | null = null;
  const documents = entries.find({ _id: numbered(part, trimmed + 1, throughSeq) }).sort({ _id: 1 });
  for await (const document of documents) {
    const { body, ...entry } = decodeEntry(
      shard,
      document,
      await bodies.read(part, lastNumber(document._id), document),
    );
    const [before, link] = [bytesOf(document.before) ?? NOTHING, bytesOf(document.link) ?? NOTHING];
    const linked: LinkedEntry = { entry, bodyHash: await digest(body), before, link };
    const altered = firstAltered([linked], last);
    if (altered !== null) return altered;
    last = { seq: entry.seq, link };
  }
  return null;
}
