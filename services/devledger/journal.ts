/**
 * Journal of the embedded ledger: one file of lines, which are only appended or replaced as a
 * whole.
 *
 * - `append` returns after fsync: its line survives SIGKILL and power loss.
 * - A last line that a crash cut off was never acknowledged, and is dropped at the next start.
 * - `replace` is atomic: a crash leaves either the old or the new file.
 *
 * Opening throws if any other line fails its checksum, and leaves the file unchanged.
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
import { NO_FOLLOW, OVERWRITE_FLAGS } from '../../lib/host/symbolic-links.ts';
import type { KeptAccount, TransactionRecord } from './ledger-state.ts';

export type JournalLine =
  | { kind: 'genesis'; format: 1; hash: string; height: number; createdAt: string }
  /** Highest height that may have been shown to a client. */
  | { kind: 'blocks'; height: number }
  | { kind: 'account'; account: KeptAccount }
  /** An address whose transactions have a bound of their own in the history. */
  | { kind: 'payer'; address: string }
  /**
   * `accounts` has the new states of all accounts that the transaction could write. Empty in a
   * replaced journal, which has lines for the accounts instead.
   */
  | { kind: 'transaction'; transaction: TransactionRecord; accounts: KeptAccount[] };

const FILE = 'journal.ndjson';
const APPENDED = constants.O_WRONLY | constants.O_CREAT | constants.O_APPEND | NO_FOLLOW;

/** Line format: CRC-32 of the JSON in 8 hex digits, a space, the JSON, a line feed. */
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

  /** Opens or creates the journal in `folder` and returns its lines. */
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

  get bytes(): number {
    return this.#bytes;
  }

  append(line: JournalLine): void {
    this.#write(this.#descriptor, encodeLine(line));
    fdatasyncSync(this.#descriptor);
  }

  replace(lines: Iterable<JournalLine>): void {
    const fresh = `${this.#path}.new`;
    const descriptor = openSync(fresh, OVERWRITE_FLAGS, 0o600);
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
