/**
 * The embedded ledger's memory on disk: one file of lines that is only ever appended to or replaced
 * whole.
 *
 * Promises
 * - `append` returns after fsync: what it was given survives SIGKILL and power loss.
 * - A line that was cut off by a crash (nobody was told of it) is dropped at the next start.
 * - `replace` is atomic: a crash leaves the old file or the new one, never a mixture.
 *
 * Fails by throwing when a line before the last does not match its checksum;
 * the file is then left alone.
 */
import {
  closeSync,
  constants,
  existsSync,
  fdatasyncSync,
  fsyncSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  writeSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { crc32 } from 'node:zlib';
import { NO_FOLLOW, REWRITTEN } from '../../lib/process/own-files.ts';
import type { AccountState, TransactionRecord } from './ledger-state.ts';

export type JournalLine =
  | { kind: 'genesis'; format: 1; hash: string; height: number; createdAt: string }
  /** Heights up to this one may have been shown to somebody. */
  | { kind: 'blocks'; height: number }
  | { kind: 'account'; account: AccountState }
  /**
   * `accounts` are the states after it of all accounts it could write; empty once they stand in
   * lines of their own.
   */
  | { kind: 'transaction'; transaction: TransactionRecord; accounts: AccountState[] };

const FILE = 'journal.ndjson';
const APPENDED = constants.O_WRONLY | constants.O_CREAT | constants.O_APPEND | NO_FOLLOW;

/** One line: the CRC-32 of the JSON text in 8 hex digits, a space, the JSON text, a line feed. */
export function encodeLine(line: JournalLine): string {
  const text = JSON.stringify(line);
  return `${crc32(text).toString(16).padStart(8, '0')} ${text}\n`;
}

function decodeLine(line: string): JournalLine | null {
  const text = line.slice(9);
  if (line[8] !== ' ' || crc32(text).toString(16).padStart(8, '0') !== line.slice(0, 8)) return null;
  return JSON.parse(text) as JournalLine;
}

function syncFolder(folder: string): void {
  const descriptor = openSync(folder, 'r');
  try {
    fsyncSync(descriptor);
  } catch (error) {
    // Windows cannot fsync a folder.
    if (process.platform !== 'win32') throw error;
  } finally {
    closeSync(descriptor);
  }
}

export class Journal {
  readonly #path: string;
  #descriptor: number;
  #bytes: number;

  private constructor(path: string, descriptor: number, bytes: number) {
    this.#path = path;
    this.#descriptor = descriptor;
    this.#bytes = bytes;
  }

  /** Opens the journal in `folder` (made when absent) and gives its lines; none when it is new. */
  static open(folder: string): { journal: Journal; lines: JournalLine[] } {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const path = join(folder, FILE);
    const lines: JournalLine[] = [];
    let sound = 0;
    if (existsSync(path)) {
      const bytes = readFileSync(path);
      while (sound < bytes.length) {
        const end = bytes.indexOf(10, sound);
        const line = end < 0 ? null : decodeLine(bytes.toString('utf8', sound, end));
        if (line === null) {
          const last = end < 0 || end === bytes.length - 1;
          if (!last)
            throw new Error(
              `The embedded ledger's journal ${path} is damaged at byte ${sound}: put back a backup of the whole data directory, or start with an empty one.`,
            );
          break;
        }
        lines.push(line);
        sound = end + 1;
      }
    }
    const descriptor = openSync(path, APPENDED, 0o600);
    ftruncateSync(descriptor, sound);
    fsyncSync(descriptor);
    syncFolder(folder);
    return { journal: new Journal(path, descriptor, sound), lines };
  }

  /** Size of the file. */
  get bytes(): number {
    return this.#bytes;
  }

  append(line: JournalLine): void {
    this.#write(this.#descriptor, encodeLine(line));
    fdatasyncSync(this.#descriptor);
  }

  replace(lines: Iterable<JournalLine>): void {
    const fresh = `${this.#path}.new`;
    const descriptor = openSync(fresh, REWRITTEN, 0o600);
    this.#bytes = 0;
    for (const line of lines) this.#write(descriptor, encodeLine(line));
    fsyncSync(descriptor);
    closeSync(descriptor);
    renameSync(fresh, this.#path);
    syncFolder(dirname(this.#path));
    closeSync(this.#descriptor);
    this.#descriptor = openSync(this.#path, APPENDED);
  }

  close(): void {
    closeSync(this.#descriptor);
  }

  #write(descriptor: number, text: string): void {
    const bytes = Buffer.from(text);
    for (let written = 0; written < bytes.length; ) written += writeSync(descriptor, bytes, written);
    this.#bytes += bytes.length;
  }
}
