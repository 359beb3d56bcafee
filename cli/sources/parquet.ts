/**
 * Reads records from a Parquet file, one row group after another. A position is a number of rows.
 */
import { stat } from 'node:fs/promises';
import { brotliDecompressSync, gunzipSync, zstdDecompressSync } from 'node:zlib';
import {
  asyncBufferFromFile,
  type Compressors,
  type FileMetaData,
  parquetMetadataAsync,
  parquetReadObjects,
} from 'hyparquet';
import { InputError } from '../../client/cli/json-file.ts';
import { type FileFields, fileMapping, recordOfRow } from './file-row.ts';
import { parseSourceJson } from './json-answer.ts';
import type { Metric, PageBegin, Source, SourceDescription, SourcePage } from './port.ts';

/** Maximum size in bytes of a row group: one is decoded as a whole, to several times its size. */
const GROUP_MAX_BYTES = 1024 * 1024 * 1024;
/** Entry of the file's own metadata in which `provec export` keeps the head of the export. */
const EXPORT_ENTRY = 'provec.export';

/** Snappy is built in. */
const compressors: Compressors = {
  GZIP: (bytes) => gunzipSync(bytes),
  BROTLI: (bytes) => brotliDecompressSync(bytes),
  ZSTD: (bytes) => zstdDecompressSync(bytes),
};
const strictUtf8 = new TextDecoder('utf-8', { fatal: true });
const parsers = { jsonFromBytes: (bytes: Uint8Array): unknown => bytes && parseSourceJson(strictUtf8.decode(bytes)) };

export const openParquet = (path: string, fields: FileFields): Source => new ParquetFile(path, fields);

class ParquetFile implements Source {
  readonly #path: string;
  readonly #fields: FileFields;

  constructor(path: string, fields: FileFields) {
    this.#path = path;
    this.#fields = fields;
  }

  async describe(): Promise<SourceDescription> {
    const { size: bytes, mtime } = await stat(this.#path);
    const { metadata } = await this.#opened();
    const { dimensions, metric } = exportIn(metadata);
    return {
      identity: { kind: 'parquet', file: this.#path, bytes, modifiedAt: mtime.toISOString() },
      count: Number(metadata.num_rows),
      dimensions: typeof dimensions === 'number' ? dimensions : null,
      metric: metric === undefined ? null : { there: metric, here: metric },
      mapping: fileMapping(this.#fields),
    };
  }

  async *pages({ position, pageRecords }: PageBegin): AsyncGenerator<SourcePage, void, undefined> {
    const { file, metadata } = await this.#opened();
    const begin = Number(position ?? 0);
    let groupStart = 0;
    for (const group of metadata.row_groups) {
      const groupEnd = groupStart + Number(group.num_rows);
      const rowStart = Math.max(groupStart, begin);
      groupStart = groupEnd;
      if (rowStart >= groupEnd) continue;
      if (Number(group.total_byte_size) > GROUP_MAX_BYTES)
        throw new InputError(
          `${this.#path} has a row group of over ${GROUP_MAX_BYTES} bytes. Write it with fewer rows in each, such as row_group_size=50000.`,
        );
      const rows = await this.#rows(file, metadata, rowStart, groupEnd);
      for (let at = 0; at < rows.length; at += pageRecords) {
        const part = rows.slice(at, at + pageRecords);
        const records = part.map((row, offset) =>
          recordOfRow(textual(row), this.#fields, `${this.#path}, row ${rowStart + at + offset + 1}`),
        );
        yield { records, next: `${rowStart + at + part.length}` };
      }
    }
  }

  async close(): Promise<void> {}

  async #opened() {
    const file = await asyncBufferFromFile(this.#path);
    try {
      return { file, metadata: await parquetMetadataAsync(file) };
    } catch (error) {
      throw new InputError(`${this.#path} is not a Parquet file: ${(error as Error).message}`);
    }
  }

  async #rows(
    file: Awaited<ReturnType<typeof asyncBufferFromFile>>,
    metadata: FileMetaData,
    rowStart: number,
    rowEnd: number,
  ) {
    try {
      return await parquetReadObjects({
        file,
        metadata,
        rowStart,
        rowEnd,
        compressors,
        parsers: parsers as never,
        utf8: false,
      });
    } catch (error) {
      throw new InputError(`${this.#path} cannot be read as Parquet: ${(error as Error).message}`);
    }
  }
}

/** Returns the head of the export that the file contains. */
function exportIn({ key_value_metadata: entries = [] }: FileMetaData): { dimensions?: number; metric?: Metric } {
  const found = entries.find(({ key }) => key === EXPORT_ENTRY)?.value;
  if (found === undefined) return {};
  try {
    const { dimensions, metric } = JSON.parse(found) as { dimensions?: number; metric?: Metric };
    return { ...(typeof dimensions === 'number' && { dimensions }), ...(typeof metric === 'string' && { metric }) };
  } catch {
    // Another program wrote this head: read the file like any other.
    return {};
  }
}

/** Decodes byte columns that hold UTF-8: some writers do not mark text columns as text. */
function textual(row: Record<string, unknown>): Record<string, unknown> {
  const entries = Object.entries(row).map(([name, value]) => [
    name,
    value instanceof Uint8Array ? textOrBytes(value) : value,
  ]);
  return Object.fromEntries(entries) as Record<string, unknown>;
}

function textOrBytes(bytes: Uint8Array): string | Uint8Array {
  try {
    return strictUtf8.decode(bytes);
  } catch {
    // Bytes that are not text count as a value that JSON cannot represent.
    return bytes;
  }
}
