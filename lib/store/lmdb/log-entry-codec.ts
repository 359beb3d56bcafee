import { crc32 } from 'node:zlib';
import { EMPTY_HEAD } from '../../shard/shard-head.ts';
import type { ShardKey } from '../../shard/shard-key.ts';
import type { LogEntry, Tally } from '../log.ts';
import { type HeadJson, headFromJson, headToJson } from './row-codec.ts';

/**
 * An entry's value: u32le CRC-32 of the header, u32le length of the header, the header as JSON, the body. Shard and seq stand in the key. The body has no
 * checksum on purpose: the root in the header proves it, so a body that was changed is noticed when it is replayed or verified, and verify can name the record.
 *
 * Blanks at the end of the header have the body begin where numbers of any kind may: it is read where it lies, since copying the largest takes tens of milliseconds.
 */
const PREFIX_BYTES = 8;
const ALIGNMENT = 8;

interface HeaderJson {
  epoch: number;
  entryId: string;
  kind: LogEntry['kind'];
  head: HeadJson;
  tally: Tally | null;
}

export function encodeEntry(entry: LogEntry): Buffer {
  const { epoch, entryId, kind, tally, body } = entry;
  const json = JSON.stringify({ epoch, entryId, kind, head: headToJson(entry.head), tally } satisfies HeaderJson);
  const header = Buffer.from(json + ' '.repeat(-(PREFIX_BYTES + Buffer.byteLength(json)) & (ALIGNMENT - 1)));
  const value = Buffer.allocUnsafe(PREFIX_BYTES + header.length + body.byteLength);
  value.writeUInt32LE(header.length, 4);
  value.set(header, PREFIX_BYTES);
  value.set(body, PREFIX_BYTES + header.length);
  value.writeUInt32LE(crc32(header), 0);
  return value;
}

/** An entry of kind 'damaged' when the bytes are not those of an entry at `seq`. The body is a view of `bytes`. */
export function decodeEntry(shard: ShardKey, seq: number, bytes: Uint8Array): LogEntry {
  const value = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const header = decodeHeader(value, seq);
  if (header === null) return damagedEntry(shard, seq);
  const { epoch, entryId, kind, tally, head, bodyStart } = header;
  return {
    shard,
    seq,
    epoch,
    entryId,
    kind,
    head,
    tally,
    body: new Uint8Array(bytes.buffer, bytes.byteOffset + bodyStart, bytes.byteLength - bodyStart),
  };
}

function decodeHeader(value: Buffer, seq: number) {
  if (value.length < PREFIX_BYTES) return null;
  const bodyStart = PREFIX_BYTES + value.readUInt32LE(4);
  if (value.readUInt32LE(0) !== crc32(value.subarray(PREFIX_BYTES, bodyStart))) return null;
  try {
    const header = JSON.parse(value.toString('utf8', PREFIX_BYTES, bodyStart)) as HeaderJson;
    const head = headFromJson(header.head);
    return head.seq === seq ? { ...header, head, bodyStart } : null;
  } catch {
    return null;
  }
}

function damagedEntry(shard: ShardKey, seq: number): LogEntry {
  const head = { ...EMPTY_HEAD, seq };
  return { shard, seq, epoch: 0, entryId: '', kind: 'damaged', head, tally: null, body: new Uint8Array(0) };
}
