/**
 * Looks an LMDB data file over before LMDB maps it: LMDB checks almost nothing, and a page that is missing or garbled ends the process by a signal.
 *
 * Promises: of a file that passes, both meta pages are sound and no page that can be reached lies past the file's end. Files of up to 256 MiB are also
 * walked: every page that can be reached is what its parent says and points nowhere outside itself or the file. It does not see a flipped bit
 * inside a key or a value. A file that another process writes to meanwhile is walked again as it then is; one that never stands still for a walk passes, since whoever
 * writes to it has looked it over. Throws StoreError 'damaged' with a sentence for the operator.
 *
 * The layout is that of the LMDB in lmdb 3 (data version 2): page header of 24 bytes (u64 pgno, u64 txnid, u16 pad, u16 flags, u16 lower, u16 upper, or u32
 * number of pages), meta after it (u32 magic, u32 version, u64 address, u64 map size, two trees of 48 bytes, u64 last page, u64 txnid), tree: u32 page size
 * or pad, u16 flags, u16 depth, 4 x u64, u64 root; node: u16 lo, u16 hi, u16 flags, u16 key size, key, value.
 */
import { readSync } from 'node:fs';
import { type FileHandle, open, unlink } from 'node:fs/promises';
import { basename } from 'node:path';
import { StoreError } from '../port.ts';

const HEADER_BYTES = 24;
const NODE_BYTES = 8;
const TREE_BYTES = 48;
const META_BYTES = 160;
const MAGIC = 0xbeefc0de;
const DATA_VERSION = 2;
const NO_PAGE = 0xffff_ffff_ffff_ffffn;
const PAGE = { branch: 1, leaf: 2, overflow: 4, meta: 8 } as const;
const NODE = { overflow: 1, tree: 2 } as const;
const WALKED_MAX_BYTES = 256 * 1024 * 1024;
/** LMDB takes as many readers as fit: 64 bytes each, 252 here. */
const LOCK_FILE_BYTES = 16_384;
const PAGES_PER_TURN = 1_024;
const WALKS_MAX = 5;

interface Meta {
  pageBytes: number;
  lastPage: number;
  txnId: bigint;
  roots: bigint[];
}

/** False when there is no file, or an empty one, which LMDB makes anew. */
export async function checkLmdbFile(path: string): Promise<boolean> {
  let file: FileHandle;
  try {
    file = await open(path, 'r');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw error;
  }
  try {
    for (let walk = 0; walk < WALKS_MAX; walk++) {
      const { size } = await file.stat();
      if (size === 0) return false;
      if (await isSound(file, basename(path), size)) break;
    }
    return true;
  } finally {
    await file.close();
  }
}

/** False when it was written to meanwhile: a page of a state that is replaced is free to hold anything. Throws StoreError 'damaged'. */
async function isSound(file: FileHandle, name: string, size: number): Promise<boolean> {
  const meta = await readNewestMeta(file, name);
  // Pages that were freed in the transaction that added them are never written, so that a sound file may end early.
  const short = size < (meta.lastPage + 1) * meta.pageBytes;
  if (!short && size > WALKED_MAX_BYTES) return true;
  try {
    await new Walk(file, name, size, meta).run();
    return true;
  } catch (error) {
    if ((await readNewestMeta(file, name)).txnId === meta.txnId) throw error;
    return false;
  }
}

/**
 * Makes LMDB's lock file at `path` if there is none, with all its bytes on the disk. LMDB makes it by setting its length and maps it: where the disk is
 * full, the first touch of such a page ends the process by SIGBUS. Throws the file system's error when there is no room.
 */
export async function reserveLockFile(path: string): Promise<void> {
  let file: FileHandle;
  try {
    file = await open(path, 'wx', 0o600);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return;
    throw error;
  }
  try {
    await file.writeFile(Buffer.alloc(LOCK_FILE_BYTES));
    await file.sync();
  } catch (error) {
    await unlink(path);
    throw error;
  } finally {
    await file.close();
  }
}

function damagedFile(name: string, what: string): StoreError {
  return new StoreError(
    'damaged',
    `${name} in the data directory is damaged (${what}): put back a backup of the whole directory, or start with an empty one.`,
  );
}

async function readNewestMeta(file: FileHandle, name: string): Promise<Meta> {
  const first = await readMeta(file, name, 0);
  const second = await readMeta(file, name, first.pageBytes);
  if (second.pageBytes !== first.pageBytes) throw damagedFile(name, 'its two meta pages differ');
  return second.txnId > first.txnId ? second : first;
}

async function readMeta(file: FileHandle, name: string, offset: number): Promise<Meta> {
  const page = Buffer.alloc(META_BYTES);
  const { bytesRead } = await file.read(page, 0, META_BYTES, offset);
  if (bytesRead < META_BYTES) throw damagedFile(name, 'it ends within its meta pages');
  if ((page.readUInt16LE(18) & PAGE.meta) === 0 || page.readUInt32LE(24) !== MAGIC)
    throw damagedFile(name, 'it has no meta page');
  if ((page.readUInt32LE(28) & 0xffff) !== DATA_VERSION) throw damagedFile(name, 'it is of another version of LMDB');
  const pageBytes = page.readUInt32LE(48);
  if (pageBytes < 256 || pageBytes > 65_536 || (pageBytes & (pageBytes - 1)) !== 0)
    throw damagedFile(name, 'its page size is none');
  return {
    pageBytes,
    lastPage: Number(page.readBigUInt64LE(144)),
    txnId: page.readBigUInt64LE(152),
    roots: [page.readBigUInt64LE(88), page.readBigUInt64LE(136)],
  };
}

/** One pass over all pages that can be reached from a meta page. */
class Walk {
  readonly #file: FileHandle;
  readonly #name: string;
  readonly #pages: number;
  readonly #pageBytes: number;
  readonly #seen = new Set<number>();
  readonly #waiting: number[] = [];

  constructor(file: FileHandle, name: string, size: number, meta: Meta) {
    this.#file = file;
    this.#name = name;
    this.#pageBytes = meta.pageBytes;
    this.#pages = Math.min(Math.floor(size / meta.pageBytes), meta.lastPage + 1);
    for (const root of meta.roots) this.#addTree(root);
  }

  async run(): Promise<void> {
    const page = Buffer.alloc(this.#pageBytes);
    for (let count = 1; this.#waiting.length > 0; count++) {
      const pgno = this.#waiting.pop()!;
      // A round trip to the thread pool takes twenty times as long as a page that the kernel holds.
      readSync(this.#file.fd, page, 0, this.#pageBytes, pgno * this.#pageBytes);
      this.#visit(page, pgno);
      if (count % PAGES_PER_TURN === 0) await new Promise(setImmediate);
    }
  }

  #visit(page: Buffer, pgno: number): void {
    const flags = page.readUInt16LE(18);
    const kind = flags & (PAGE.branch | PAGE.leaf | PAGE.overflow | PAGE.meta);
    const lower = page.readUInt16LE(20);
    const upper = page.readUInt16LE(22);
    const room = this.#pageBytes - HEADER_BYTES;
    this.#assert(page.readBigUInt64LE(0) === BigInt(pgno) && (kind === PAGE.branch || kind === PAGE.leaf), pgno);
    this.#assert(lower % 2 === 0 && lower <= upper && upper <= room, pgno);
    for (let slot = 0; slot < lower; slot += 2) {
      const node = page.readUInt16LE(HEADER_BYTES + slot);
      this.#assert(node >= upper && node + NODE_BYTES <= room, pgno);
      this.#visitNode(page, pgno, HEADER_BYTES + node, kind === PAGE.branch);
    }
  }

  #visitNode(page: Buffer, pgno: number, node: number, inBranch: boolean): void {
    const low = page.readUInt16LE(node) + page.readUInt16LE(node + 2) * 0x1_0000;
    const flags = page.readUInt16LE(node + 4);
    const value = node + NODE_BYTES + page.readUInt16LE(node + 6);
    this.#assert(value <= this.#pageBytes, pgno);
    if (inBranch) {
      this.#add(low + flags * 0x1_0000_0000, 1, pgno);
    } else if (flags & NODE.overflow) {
      this.#assert(value + 8 <= this.#pageBytes, pgno);
      const pages = Math.ceil((HEADER_BYTES + low) / this.#pageBytes);
      this.#assertInFile(Number(page.readBigUInt64LE(value)), pages, pgno);
    } else {
      this.#assert(value + low <= this.#pageBytes, pgno);
      if (flags & NODE.tree) {
        this.#assert(low === TREE_BYTES, pgno);
        this.#addTree(page.readBigUInt64LE(value + 40));
      }
    }
  }

  #addTree(root: bigint): void {
    if (root !== NO_PAGE) this.#add(Number(root), 1, 0);
  }

  #add(pgno: number, pages: number, parent: number): void {
    this.#assertInFile(pgno, pages, parent);
    this.#assert(!this.#seen.has(pgno), parent);
    this.#seen.add(pgno);
    this.#waiting.push(pgno);
  }

  #assertInFile(pgno: number, pages: number, parent: number): void {
    if (pgno < 2) throw damagedFile(this.#name, `page ${parent}`);
    if (pgno + pages > this.#pages) throw damagedFile(this.#name, 'it was cut short');
  }

  #assert(sound: boolean, pgno: number): void {
    if (!sound) throw damagedFile(this.#name, `page ${pgno}`);
  }
}
