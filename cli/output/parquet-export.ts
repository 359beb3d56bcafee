import type { SchemaElement } from 'hyparquet';
import { ByteWriter, ParquetWriter } from 'hyparquet-writer';
import { parseJson } from '../../client/verify/json-text.ts';
import type { ExportFile, ExportHead } from './export-file.ts';

/** Records per row group: readers decode a group as a whole. */
const GROUP_RECORDS = 1_000;
/** Entry of the file's own metadata with the head of the export. */
const EXPORT_ENTRY = 'provec.export';
const text = { type: 'BYTE_ARRAY', repetition_type: 'REQUIRED' } as const;

const SCHEMA: SchemaElement[] = [
  { name: 'root', num_children: 4 },
  { name: 'id', ...text, converted_type: 'UTF8' },
  { name: 'namespace', ...text, converted_type: 'UTF8' },
  { name: 'values', repetition_type: 'REQUIRED', converted_type: 'LIST', num_children: 1 },
  { name: 'list', repetition_type: 'REPEATED', num_children: 1 },
  { name: 'element', type: 'FLOAT', repetition_type: 'REQUIRED' },
  { name: 'metadata', ...text, converted_type: 'UTF8' },
];

interface Line {
  id: string;
  namespace?: string;
  values: number[];
  metadata?: object;
}

/** Writes records of an export as Parquet: id, namespace, values, and metadata as JSON text. */
export class ParquetExport implements ExportFile {
  readonly #bytes = new ByteWriter();
  readonly #sink: (bytes: Uint8Array) => Promise<void>;
  #writer: ParquetWriter | undefined;
  #lines: Line[] = [];

  /** `sink` gets the file, part by part. */
  constructor(sink: (bytes: Uint8Array) => Promise<void>) {
    this.#sink = sink;
  }

  async begin(_line: string, head: ExportHead): Promise<void> {
    const kvMetadata = [{ key: EXPORT_ENTRY, value: JSON.stringify(head) }];
    this.#writer = new ParquetWriter({ writer: this.#bytes, schema: SCHEMA, kvMetadata, createdBy: 'provec' });
  }

  async add(line: string): Promise<void> {
    this.#lines.push(parseJson(line) as Line);
    if (this.#lines.length >= GROUP_RECORDS) await this.#writeGroup();
  }

  /** Does nothing: a table has only records. */
  async end(): Promise<void> {}

  async finish(): Promise<void> {
    if (this.#lines.length > 0) await this.#writeGroup();
    await this.#writer?.finish();
    await this.#flush();
  }

  async #writeGroup(): Promise<void> {
    const lines = this.#lines;
    this.#lines = [];
    await this.#writer?.write({
      rowGroupSize: GROUP_RECORDS,
      columnData: [
        { name: 'id', data: lines.map(({ id }) => id) },
        { name: 'namespace', data: lines.map(({ namespace = '' }) => namespace) },
        { name: 'values', data: lines.map(({ values }) => values) },
        { name: 'metadata', data: lines.map(({ metadata = {} }) => JSON.stringify(metadata)) },
      ],
    });
    await this.#flush();
  }

  async #flush(): Promise<void> {
    await this.#sink(Uint8Array.from(this.#bytes.getBytes()));
    this.#bytes.index = 0;
  }
}
