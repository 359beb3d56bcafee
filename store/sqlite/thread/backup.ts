/**
 * Worker thread that copies a snapshot of a store in use, once.
 *
 * Guarantees: the snapshots of both files and the lengths of the files beside them are taken while
 * nothing can be committed; writes wait a few milliseconds for that. An interrupted copy has no
 * format file, so no start accepts it as a store. On failure: an error of the system or of SQLite;
 * the caller removes what was written.
 */
import { closeSync, fstatSync, openSync, readFileSync, readSync } from 'node:fs';
import { mkdir, open } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { backup, DatabaseSync } from 'node:sqlite';
import { parentPort, workerData } from 'node:worker_threads';
import { NO_FOLLOW } from '../../../lib/host/symbolic-links.ts';
import type { BackupDone, BackupOrder } from '../backup.ts';
import { sync } from '../checkpoints.ts';
import { FORMAT_FILE } from '../format-file.ts';
import { retryWhileBusy } from './database.ts';
import { countIn, markText } from './high-water.ts';

const PAGES_PER_STEP = 1_000;
const CHUNK_BYTES = 1024 * 1024;

interface Source {
  name: string;
  connection: DatabaseSync;
  commits: number;
}

/** A file that is only appended to or replaced whole, with its length when it was opened. */
interface AppendOnlyFile {
  name: string;
  descriptor: number;
  bytes: number;
}

function lockForBackup(path: string): DatabaseSync {
  const connection = new DatabaseSync(path, { timeout: 0 });
  retryWhileBusy(() => connection.exec('BEGIN IMMEDIATE'));
  return connection;
}

/** The first read fixes the snapshot of a transaction. */
function snapshot(folder: string, name: string): Source {
  const connection = new DatabaseSync(join(folder, name), { readOnly: true, timeout: 0 });
  connection.exec('BEGIN');
  return { name, connection, commits: retryWhileBusy(() => countIn(connection)) };
}

function openAppendOnly(folder: string, name: string): AppendOnlyFile {
  const descriptor = openSync(join(folder, name), NO_FOLLOW);
  return { name, descriptor, bytes: fstatSync(descriptor).size };
}

/** Takes all snapshots at the same moment. */
function takeSnapshots({ folder, files, beside }: BackupOrder): { sources: Source[]; others: AppendOnlyFile[] } {
  const locks: DatabaseSync[] = [];
  try {
    for (const name of files) locks.push(lockForBackup(join(folder, name)));
    return {
      sources: files.map((name) => snapshot(folder, name)),
      others: beside.map((name) => openAppendOnly(folder, name)),
    };
  } finally {
    for (const lock of locks) lock.close();
  }
}

/** Returns the number of bytes written. */
async function write(path: string, content: Iterable<Uint8Array>): Promise<number> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const file = await open(path, 'wx', 0o600);
  let bytes = 0;
  try {
    for (const part of content) {
      await file.writeFile(part);
      bytes += part.length;
    }
    await file.sync();
  } finally {
    await file.close();
  }
  return bytes;
}

async function copySource({ name, connection, commits }: Source, target: string): Promise<number> {
  const path = join(target, name);
  await write(path, []);
  await backup(connection, path, { rate: PAGES_PER_STEP });
  connection.close();
  const copy = new DatabaseSync(path);
  const copied = countIn(copy);
  copy.close();
  if (copied !== commits) throw new Error(`the copy of ${name} has ${copied} commits, not ${commits}`);
  await write(`${path}-mark`, [Buffer.from(markText(commits))]);
  const file = await open(path, 'r+');
  await file.sync();
  const { size } = await file.stat();
  await file.close();
  return size;
}

function* contentOf({ descriptor, bytes }: AppendOnlyFile): Iterable<Uint8Array> {
  for (let at = 0; at < bytes; ) {
    const part = Buffer.alloc(Math.min(CHUNK_BYTES, bytes - at));
    const read = readSync(descriptor, part, 0, part.length, at);
    if (read === 0) throw new Error('a file was truncated while it was copied');
    at += read;
    yield part.subarray(0, read);
  }
  closeSync(descriptor);
}

async function run(order: BackupOrder): Promise<number> {
  const { folder, target } = order;
  const { sources, others } = takeSnapshots(order);
  let bytes = 0;
  for (const source of sources) bytes += await copySource(source, target);
  for (const other of others) bytes += await write(join(target, other.name), contentOf(other));
  bytes += await write(join(target, FORMAT_FILE), [readFileSync(join(folder, FORMAT_FILE))]);
  await sync(target);
  return bytes;
}

if (parentPort === null) throw new Error('this file must be run as a worker thread');
const bytes = await run(workerData as BackupOrder);
parentPort.postMessage({ bytes } satisfies BackupDone);
