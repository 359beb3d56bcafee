import { Binary } from 'mongodb';
import type { ShardHead } from '../../lib/shard/head.ts';
import type { ShardKey } from '../../lib/shard/key.ts';
import type { LogEntry, Tally } from '../log.ts';
import { isPossibleEntry } from '../log-resealing.ts';
import type { LinkedEntry } from '../log-seals.ts';
import { StoreError } from '../port.ts';
import { idPart, joined, lastNumber, numberPart } from './document-id.ts';
import { bytesOf, decodeHead, encodeHead, type HeadDocument } from './head-codec.ts';

/**
 * A log entry as stored. `_id` is shard and seq. The body is in the document or split into separate
 * parts.
 */
export interface EntryDocument {
  _id: string;
  epoch: number;
  entryId: string;
  kind: LogEntry['kind'];
  head: HeadDocument;
  tally: Tally | null;
  /** Id part of the account, present until the tally is added to its usage document. */
  uncounted?: string;
  bodyBytes: number;
  /** Absent if the body is stored in separate parts. */
  body?: Binary;
  /** Number of separate parts; absent if the body is in this document. */
  parts?: number;
  /** See log-seals.ts. */
  bodyHash: Binary;
  before: Binary;
  link: Binary;
}

/** The fields of an entry by which a reader decides what to fetch. */
export type EntryOutline = Pick<EntryDocument, '_id' | 'bodyBytes' | 'parts' | 'entryId'>;

/** `parts`: number of separate parts of the body; 0 if the body is in the document. */
export function encodeEntry(
  shard: string,
  { entry, bodyHash, before, link }: LinkedEntry,
  body: Uint8Array,
  parts: number,
): EntryDocument {
  const { seq, epoch, entryId, kind, head, tally } = entry;
  const document: EntryDocument = {
    _id: joined(shard, numberPart(seq)),
    epoch,
    entryId,
    kind,
    head: encodeHead(head),
    tally: tally && {
      accountId: tally.accountId,
      month: tally.month,
      ...(tally.day !== undefined && { day: tally.day }),
      writes: tally.writes,
      vectors: tally.vectors,
    },
    bodyBytes: body.byteLength,
    bodyHash: new Binary(bodyHash),
    before: new Binary(before),
    link: new Binary(link),
  };
  if (tally && (tally.writes !== 0 || tally.vectors !== 0)) document.uncounted = idPart(tally.accountId);
  if (parts > 0) document.parts = parts;
  else document.body = new Binary(body);
  return document;
}

/**
 * Decodes an entry without its body, and without verifying its link; returns null if the document
 * is malformed.
 */
export function decodeEntry(shard: ShardKey, document: Omit<EntryDocument, 'body'>): LinkedEntry | null {
  const { epoch, entryId, kind, tally } = document;
  const head = headIn(document);
  const [bodyHash, before, link] = [document.bodyHash, document.before, document.link].map(bytesOf);
  if (!head || !bodyHash || !before || !link) return null;
  const entry = { shard, seq: lastNumber(document._id), epoch, entryId, kind, head, tally };
  return isPossibleEntry(entry) ? { entry, bodyHash, before, link } : null;
}

function headIn({ head }: Pick<EntryDocument, 'head'>): ShardHead | null {
  try {
    return decodeHead(head);
  } catch (error) {
    if (error instanceof StoreError) return null;
    throw error;
  }
}
