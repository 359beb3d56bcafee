/**
 * How many queries of each open block this process has used, in a file that outlives the process,
 * so that what it did not use can be given back after a crash.
 *
 * Promises: a use is in the file before the query is answered. The file is written without fsync:
 * the system keeps it when the process is killed, which is the crash that happens; when the machine
 * itself goes down its blocks count as used. Whoever adopts the file of a dead process (see
 * journal-adoption.ts) waits until its beat has stood still for longer than `isCurrent` can be true
 * here: a process that was paused past its lease uses nothing of its blocks any more.
 *
 * Form: a header of 512 bytes (length, JSON of who writes, and the beat in its last 8 bytes), then
 * slots of 256 bytes, one per block: queries used (8 bytes), length and JSON of which block; length
 * 0 is a free slot.
 */
import { randomUUID } from 'node:crypto';
import { closeSync, mkdirSync, openSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { parseJson } from '../../lib/json/text.ts';
import { INTERNAL_LIMITS } from '../../lib/limits.ts';
import type { ProcessIdentity } from '../../lib/process/process-identity.ts';
import type { Clock } from '../../lib/runtime.ts';

export const JOURNAL_SUFFIX = '.uses';
const HEADER_BYTES = 512;
const BEAT_AT = HEADER_BYTES - 8;
const SLOT_BYTES = 256;
const LENGTH_AT = 8;
const TEXT_AT = 10;

export interface JournalOwner {
  process: ProcessIdentity;
  /** Which start of the machine; '' where the system does not tell. */
  boot: string;
}

/** Which block, of which account. */
export interface JournalBlock {
  accountId: string;
  month: string;
  id: string;
}

export class UseJournal {
  readonly path: string;
  readonly #file: number;
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  readonly #slots = new Map<string, number>();
  readonly #free: number[] = [];
  #slotsMade = 0;
  #beat = 0;
  #beatSentMs: number;

  /** Makes a new file in `folder`. Throws what the file system throws. */
  constructor(folder: string, owner: JournalOwner, clock: Pick<Clock, 'monotonicMs'>) {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    this.path = join(folder, `${randomUUID()}${JOURNAL_SUFFIX}`);
    this.#clock = clock;
    const text = Buffer.from(JSON.stringify(owner));
    if (text.length > BEAT_AT - TEXT_AT) throw new RangeError('the name of this process is too long for a journal');
    const header = Buffer.alloc(HEADER_BYTES);
    header.writeUInt16LE(text.length, LENGTH_AT);
    text.copy(header, TEXT_AT);
    this.#file = openSync(this.path, 'wx', 0o600);
    this.#beatSentMs = clock.monotonicMs();
    writeSync(this.#file, header, 0, HEADER_BYTES, 0);
  }

  /** Whether nobody can have adopted the file: what is used now is certain to be seen. */
  get isCurrent(): boolean {
    return this.#clock.monotonicMs() - this.#beatSentMs < INTERNAL_LIMITS.queryJournalLeaseMs;
  }

  /** Shows that this process lives. A journal that is not current any more stays so. */
  beat(): void {
    const sentAtMs = this.#clock.monotonicMs();
    if (!this.isCurrent) return;
    this.#writeNumber(++this.#beat, BEAT_AT);
    this.#beatSentMs = sentAtMs;
  }

  /** Before the block is asked of the store. */
  begin(block: JournalBlock): void {
    const text = Buffer.from(JSON.stringify(block));
    if (text.length > SLOT_BYTES - TEXT_AT) return;
    const slot = this.#free.pop() ?? this.#slotsMade++;
    const bytes = Buffer.alloc(SLOT_BYTES);
    bytes.writeUInt16LE(text.length, LENGTH_AT);
    text.copy(bytes, TEXT_AT);
    writeSync(this.#file, bytes, 0, SLOT_BYTES, HEADER_BYTES + slot * SLOT_BYTES);
    this.#slots.set(block.id, slot);
  }

  note(id: string, used: number): void {
    const slot = this.#slots.get(id);
    if (slot !== undefined) this.#writeNumber(used, HEADER_BYTES + slot * SLOT_BYTES);
  }

  /** The store has closed the block. */
  end(id: string): void {
    const slot = this.#slots.get(id);
    if (slot === undefined) return;
    writeSync(this.#file, Buffer.alloc(TEXT_AT), 0, TEXT_AT, HEADER_BYTES + slot * SLOT_BYTES);
    this.#slots.delete(id);
    this.#free.push(slot);
  }

  /** Whether every block that was begun has ended. */
  get isEmpty(): boolean {
    return this.#slots.size === 0;
  }

  /** Blocks that were not ended are left to whoever adopts the file. */
  close(): void {
    closeSync(this.#file);
    if (this.isEmpty) rmSync(this.path, { force: true });
  }

  /** What stands in it can be relied on no more: nobody shall. */
  discard(): void {
    this.#slots.clear();
    this.close();
  }

  #writeNumber(value: number, position: number): void {
    const bytes = Buffer.alloc(8);
    bytes.writeDoubleLE(value);
    writeSync(this.#file, bytes, 0, 8, position);
  }
}

export interface JournalReading {
  owner: JournalOwner;
  beat: number;
  blocks: (JournalBlock & { used: number })[];
}

/**
 * What a journal's bytes say; null when they are not those of one, as of one that was just being
 * made.
 */
export function readJournal(bytes: Buffer): JournalReading | null {
  const owner = bytes.length < HEADER_BYTES ? null : (textAt(bytes, 0) as JournalOwner | null);
  if (owner === null) return null;
  const blocks: JournalReading['blocks'] = [];
  for (let at = HEADER_BYTES; at + SLOT_BYTES <= bytes.length; at += SLOT_BYTES) {
    const block = textAt(bytes, at) as JournalBlock | null;
    if (block !== null) blocks.push({ ...block, used: bytes.readDoubleLE(at) });
  }
  return { owner, beat: bytes.readDoubleLE(BEAT_AT), blocks };
}

function textAt(bytes: Buffer, at: number): unknown {
  const length = bytes.readUInt16LE(at + LENGTH_AT);
  if (length === 0) return null;
  return parseJson(bytes.toString('utf8', at + TEXT_AT, at + TEXT_AT + length));
}
