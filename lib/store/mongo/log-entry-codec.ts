import { Binary } from 'mongodb';
import type { ShardKey } from '../../shard/shard-key.ts';
import { damagedEntry, type LogEntry, type Tally } from '../log.ts';
import { idPart, joined, lastNumber, numberPart } from './document-id.ts';
import { bytesOf, decodeHead, encodeHead, type HeadDocument } from './head-codec.ts';

/** An entry as stored. `_id` is shard and seq. The body stands in it, or in so many parts beside it. */
export interface EntryDocument {
  _id: string;
  epoch: number;
  entryId: string;
  kind: LogEntry['kind'];
  head: HeadDocument;
  tally: Tally | null;
  /** The account, until the tally is in its usage document. */
  uncounted?: string;
  bodyBytes: number;
  body?: Binary;
  parts?: number;
  /** See log-link.ts. */
  before: Binary;
  link: Binary;
}

/** The part of an entry that a reader chooses by. */
export type EntryOutline = Pick<EntryDocument, '_id' | 'bodyBytes' | 'parts' | 'entryId'>;

const KINDS = ['write', 'open', 'void'];

/** `parts`: the body lies in so many parts; 0: in the entry. `link` is its own, and `before` that of the entry before it. */
export function encodeEntry(
  shard: string,
  entry: LogEntry,
  parts: number,
  before: Uint8Array,
  link: Uint8Array,
): EntryDocument {
  const { seq, epoch, entryId, kind, head, tally, body } = entry;
  const document: EntryDocument = {
    _id: joined(shard, numberPart(seq)),
    epoch,
    entryId,
    kind,
    head: encodeHead(head),
    tally: tally && { accountId: tally.accountId, month: tally.month, writes: tally.writes, vectors: tally.vectors },
    bodyBytes: body.byteLength,
    before: new Binary(before),
    link: new Binary(link),
  };
  if (tally && (tally.writes !== 0 || tally.vectors !== 0)) document.uncounted = idPart(tally.accountId);
  if (parts > 0) document.parts = parts;
  else document.body = new Binary(body);
  return document;
}

/** An entry of kind 'damaged' when the document is none; `splitBody` is what its parts hold, null when they are not all there. */
export function decodeEntry(shard: ShardKey, document: EntryDocument, splitBody: Uint8Array | null): LogEntry {
  const seq = lastNumber(document._id);
  const { epoch, entryId, kind, tally, bodyBytes, parts } = document;
  const body = parts === undefined ? bytesOf(document.body) : splitBody;
  const sound =
    Number.isSafeInteger(epoch) &&
    typeof entryId === 'string' &&
    KINDS.includes(kind) &&
    isTally(tally) &&
    body?.byteLength === bodyBytes;
  if (!sound || !body) return damagedEntry(shard, seq);
  try {
    const head = decodeHead(document.head);
    if (head.seq === seq) return { shard, seq, epoch, entryId, kind, head, tally, body };
  } catch {
    // Said below.
  }
  return damagedEntry(shard, seq);
}

function isTally(tally: Tally | null): boolean {
  if (tally === null) return true;
  const { accountId, month, writes, vectors } = tally ?? {};
  return (
    typeof accountId === 'string' &&
    typeof month === 'string' &&
    Number.isSafeInteger(writes) &&
    Number.isSafeInteger(vectors)
  );
}
