/** Worker of the import: reads a Parquet file, one row group after another. */
import type { AsyncBuffer, FileMetaData, SchemaTree } from 'hyparquet';
import { parquetMetadataAsync, parquetSchema } from 'hyparquet/src/metadata.js';
import { parquetReadObjects } from 'hyparquet/src/read.js';
import { columnsOf, type ParquetColumn } from './parquet-mapping.ts';
import type { ParquetAnswer, ParquetRequest } from './parquet-request.ts';
import { lineOf } from './parquet-row.ts';

/** Maximum size in bytes of a row group: one is decoded as a whole, to several times its size. */
const GROUP_MAX_BYTES = 256 * 1024 * 1024;
/** Characters of the lines of a part, and rows of it. */
const PART_CHARS = 4 * 1024 * 1024;
const PART_ROWS = 10_000;
const CODECS = ['UNCOMPRESSED', 'SNAPPY'];

const port = globalThis as unknown as {
  onmessage: ((event: { data: ParquetRequest }) => void) | null;
  postMessage(message: ParquetAnswer): void;
};

interface OpenFile {
  buffer: AsyncBuffer;
  metadata: FileMetaData;
}

let open: OpenFile | null = null;
/** Rows of the row group that was decoded last. */
let group: { from: number; rows: Record<string, unknown>[] } = { from: 0, rows: [] };

port.onmessage = ({ data }) => {
  answerTo(data).then(
    (answer) => port.postMessage(answer),
    (error: unknown) =>
      port.postMessage({ kind: 'failed', message: error instanceof Error ? error.message : `${error}` }),
  );
};

async function answerTo(request: ParquetRequest): Promise<ParquetAnswer> {
  if (request.kind === 'open') {
    open = await opened(request.file);
    const { metadata } = open;
    return {
      kind: 'opened',
      rows: Number(metadata.num_rows),
      columns: parquetSchema(metadata).children.map(columnOf),
    };
  }
  if (open === null) throw new Error('No file is open.');
  const { mapping, fromRow } = request;
  if (fromRow < group.from || fromRow >= group.from + group.rows.length)
    group = await groupWith(open, fromRow, columnsOf(mapping));
  const lines: string[] = [];
  let chars = 0;
  for (let at = fromRow - group.from; at < group.rows.length && chars < PART_CHARS && lines.length < PART_ROWS; at++) {
    const line = lineOf(group.rows[at]!, mapping, group.from + at + 1);
    chars += line.length;
    lines.push(line);
  }
  return { kind: 'part', lines: lines.join('\n'), fromRow, rows: lines.length };
}

async function opened(file: Blob): Promise<OpenFile> {
  const buffer = {
    byteLength: file.size,
    slice: (start: number, end?: number) => file.slice(start, end).arrayBuffer(),
  };
  const metadata = await parquetMetadataAsync(buffer).catch((error: unknown) => {
    throw new Error(`This is not a Parquet file: ${(error as Error).message}`);
  });
  const codecs = metadata.row_groups.flatMap(({ columns }) => columns.map(({ meta_data: meta }) => meta?.codec ?? ''));
  const unknown = codecs.find((codec) => !CODECS.includes(codec));
  if (unknown !== undefined)
    throw new Error(
      `The file is compressed with ${unknown}; the browser reads Snappy and none. The command provec import-from reads it.`,
    );
  return { buffer, metadata };
}

/** Decodes the row group that has a row. */
async function groupWith({ buffer: file, metadata }: OpenFile, row: number, columns: string[]) {
  let from = 0;
  for (const { num_rows: count, total_byte_size: bytes } of metadata.row_groups) {
    const end = from + Number(count);
    if (row < end) {
      if (Number(bytes) > GROUP_MAX_BYTES)
        throw new Error(
          `The file has a row group of over ${GROUP_MAX_BYTES / 1024 / 1024} MiB. Write it with fewer rows in each, or use provec import-from.`,
        );
      const options = { file, metadata, columns, rowStart: from, rowEnd: end, utf8: false };
      return { from, rows: await parquetReadObjects(options) };
    }
    from = end;
  }
  throw new Error(`The file has no row ${row + 1}.`);
}

function columnOf({ children, element }: SchemaTree): ParquetColumn {
  const { name, type, converted_type: converted, logical_type: logical } = element;
  const isText = type === 'BYTE_ARRAY' && (converted === undefined || converted === 'UTF8');
  if (children.length > 0) return { name, kind: converted === 'LIST' || logical?.type === 'LIST' ? 'list' : 'object' };
  if (element.repetition_type === 'REPEATED') return { name, kind: 'list' };
  if (converted === 'JSON' || logical?.type === 'JSON') return { name, kind: 'json' };
  if (isText || logical?.type === 'STRING') return { name, kind: 'text' };
  return { name, kind: type === 'BOOLEAN' || type === 'FIXED_LEN_BYTE_ARRAY' ? 'other' : 'number' };
}
