/**
 * The Debian packages data set: 384-dimensional text embeddings with metadata, queries and exact
 * answers.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { inflateRawSync } from 'node:zlib';
import canonicalize from 'canonicalize';
import { itemAt } from '../../lib/checked-access.ts';
import type { ShardWrite } from '../../services/shards/engine/port.ts';
import { randomFrom } from './random.ts';

/**
 * Standard deviation of the noise added to a component; the root mean square of components is 0.05.
 */
const NOISE = 0.02;
const { cos, log, PI, sqrt } = Math;

interface DebianFilter {
  name: string;
  filter: Record<string, unknown>;
  matching: number;
}

export interface Debian {
  records: number;
  dimensions: number;
  vectors: Float32Array;
  ids: string[];
  /** Metadata of each record as canonical JSON. */
  metadata: string[];
  queries: Float32Array[];
  filters: DebianFilter[];
  /**
   * Rows of the exact best 100 per query, fewer when fewer match. `null`: without a filter; filters
   * apply to queries 0 to 199.
   */
  truth(filter: string | null): number[][];
}

/**
 * Reads the data set from PROVEC_TEST_DATA, by default from a folder next to the checkout; null
 * when it is missing.
 */
export function readDebian(): Debian | null {
  const folder = process.env.PROVEC_TEST_DATA ?? resolve(import.meta.dirname, '../../../shared/data/debian');
  if (!existsSync(join(folder, 'manifest.json'))) return null;
  const read = (name: string) => readFileSync(join(folder, name));
  const { n, dims, queries } = JSON.parse(read('manifest.json').toString());
  const lines = read('meta.jsonl')
    .toString()
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  const flatQueries = floats(read('queries.f16'));
  const truths = readZip(read('truth.npz'));
  return {
    records: n,
    dimensions: dims,
    vectors: floats(read('base.f16')),
    ids: lines.map(({ id }) => id),
    metadata: lines.map(({ metadata }) => canonicalize(metadata) as string),
    queries: Array.from({ length: queries }, (_, i) => flatQueries.slice(i * dims, (i + 1) * dims)),
    filters: JSON.parse(read('filters.json').toString()),
    truth: (filter) => readRows(truths.get(filter === null ? 'all.npy' : `${filter}.npy`)!),
  };
}

/** Yields the data set as writes of 1,000 records. */
export function* debianWrites({ records, dimensions, vectors, ids, metadata }: Debian): Iterable<ShardWrite> {
  for (let from = 0; from < records; from += 1_000) {
    const to = Math.min(records, from + 1_000);
    const batch = {
      ids: ids.slice(from, to),
      dimensions,
      vectors: vectors.slice(from * dimensions, to * dimensions),
      metadata: metadata.slice(from, to),
    };
    yield { kind: 'upsert', batch };
  }
}

/**
 * Yields `records` records as writes of 1,000: the data set first, then noisy copies of it as often
 * as needed.
 */
export function* multipliedWrites(data: Debian, records: number, seed = 7): Iterable<ShardWrite> {
  const random = randomFrom(seed);
  const gauss = () => sqrt(-2 * log(1 - random())) * cos(2 * PI * random());
  const { dimensions } = data;
  for (let from = 0; from < records; from += 1_000) {
    const rows = Array.from({ length: Math.min(1_000, records - from) }, (_, at) => from + at);
    const vectors = new Float32Array(rows.length * dimensions);
    const ids: string[] = [];
    const metadata: string[] = [];
    for (const [at, row] of rows.entries()) {
      const copied = row % data.records;
      const copy = (row - copied) / data.records;
      const vector = vectors.subarray(at * dimensions, (at + 1) * dimensions);
      vector.set(data.vectors.subarray(copied * dimensions, (copied + 1) * dimensions));
      for (let d = 0; copy > 0 && d < dimensions; d++) vector[d] = itemAt(vector, d) + NOISE * gauss();
      ids.push(copy === 0 ? itemAt(data.ids, copied) : `${data.ids[copied]}#${copy}`);
      metadata.push(itemAt(data.metadata, copied));
    }
    yield { kind: 'upsert', batch: { ids, dimensions, vectors, metadata } };
  }
}

function floats(file: Buffer): Float32Array {
  return new Float32Array(new Float16Array(Uint8Array.from(file).buffer));
}

/** Returns the files of a zip archive (stored or deflated) by name. */
function readZip(archive: Buffer): Map<string, Buffer> {
  const files = new Map<string, Buffer>();
  const end = archive.lastIndexOf('PK\x05\x06', undefined, 'latin1');
  let at = archive.readUInt32LE(end + 16);
  for (let left = archive.readUInt16LE(end + 10); left > 0; left--) {
    const nameBytes = archive.readUInt16LE(at + 28);
    const header = archive.readUInt32LE(at + 42);
    const start = header + 30 + archive.readUInt16LE(header + 26) + archive.readUInt16LE(header + 28);
    const packed = archive.subarray(start, start + archive.readUInt32LE(at + 20));
    const name = archive.toString('utf8', at + 46, at + 46 + nameBytes);
    files.set(name, archive.readUInt16LE(at + 10) === 0 ? packed : inflateRawSync(packed));
    at += 46 + nameBytes + archive.readUInt16LE(at + 30) + archive.readUInt16LE(at + 32);
  }
  return files;
}

/** Reads a two-dimensional int32 array of a .npy file, without the -1 values that pad its rows. */
function readRows(file: Buffer): number[][] {
  const dataAt = 10 + file.readUInt16LE(8);
  const [, rows = 0, columns = 0] = /'shape': \((\d+), (\d+)\)/.exec(file.toString('latin1', 10, dataAt))!.map(Number);
  const data = new Int32Array(Uint8Array.from(file.subarray(dataAt)).buffer);
  return Array.from({ length: rows }, (_, i) =>
    [...data.subarray(i * columns, (i + 1) * columns)].filter((row) => row >= 0),
  );
}
