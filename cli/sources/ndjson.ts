/**
 * Reads records from a file of NDJSON, one per line, or an export of Provec. A position is that of
 * a line: its number and its first byte.
 */
import { stat } from 'node:fs/promises';
import { InputError } from '../../client/cli/json-file.ts';
import { lineBatches } from '../input/line-batches.ts';
import { openInput } from '../input/read-text.ts';
import { type FileFields, fileMapping, recordOfRow } from './file-row.ts';
import { parseSourceJson } from './json-answer.ts';
import type { Metric, PageBegin, Source, SourceDescription, SourcePage, SourceRecord } from './port.ts';

const BATCH_BYTES = 4 * 1024 * 1024;
const FIRST_PLACE = { line: 1, byte: 0 };

/** First line of an export of Provec. */
interface ExportHead {
  dimensions?: unknown;
  metric?: unknown;
  vectorCount?: unknown;
}

export const openNdjson = (path: string, fields: FileFields): Source => new NdjsonFile(path, fields);

class NdjsonFile implements Source {
  readonly #path: string;
  readonly #fields: FileFields;

  constructor(path: string, fields: FileFields) {
    this.#path = path;
    this.#fields = fields;
  }

  async describe(): Promise<SourceDescription> {
    const { size: bytes, mtime } = await stat(this.#path);
    const { dimensions, metric, vectorCount } = await this.#head();
    const here = ['cosine', 'euclidean', 'dot'].includes(`${metric}`) ? (metric as Metric) : null;
    return {
      identity: { kind: 'ndjson', file: this.#path, bytes, modifiedAt: mtime.toISOString() },
      count: typeof vectorCount === 'number' ? vectorCount : null,
      dimensions: typeof dimensions === 'number' ? dimensions : null,
      metric: here && { there: here, here },
      mapping: fileMapping(this.#fields),
    };
  }

  async *pages({ position, pageRecords }: PageBegin): AsyncGenerator<SourcePage, void, undefined> {
    const begin = position === null ? FIRST_PLACE : (JSON.parse(position) as typeof FIRST_PLACE);
    const source = this.#path;
    let records: SourceRecord[] = [];
    for await (const batch of lineBatches(openInput(this.#path, begin.byte), {
      source,
      batchBytes: BATCH_BYTES,
      begin,
    })) {
      const lines = textOf(batch.bytes, source).split('\n');
      let byte = batch.endByte - batch.bytes.length;
      let number = batch.firstLine;
      for (const line of lines) {
        const record = this.#recordIn(line, number);
        byte += Buffer.byteLength(line) + 1;
        number++;
        if (record !== null) records.push(record);
        if (records.length < pageRecords) continue;
        yield { records, next: JSON.stringify({ line: number, byte }) };
        records = [];
      }
    }
    if (records.length > 0)
      yield { records, next: JSON.stringify({ line: Number.MAX_SAFE_INTEGER, byte: (await stat(source)).size }) };
  }

  async close(): Promise<void> {}

  async #head(): Promise<ExportHead> {
    for await (const batch of lineBatches(openInput(this.#path), { source: this.#path, batchBytes: 1 })) {
      const [line = ''] = textOf(batch.bytes, this.#path).split('\n');
      return frameIn(this.#parsed(line.replace(/^\ufeff/, '') || '{}', 1)) ?? {};
    }
    return {};
  }

  /** Returns the record of a line; null if it is blank, or the first or last line of an export. */
  #recordIn(text: string, number: number): SourceRecord | null {
    const line = number === 1 ? text.replace(/^\ufeff/, '') : text;
    if (line.trim() === '') return null;
    const row = this.#parsed(line, number);
    if (frameIn(row) !== null || 'end' in row) return null;
    return recordOfRow(row, this.#fields, `${this.#path}:${number}`);
  }

  #parsed(line: string, number: number): Record<string, unknown> {
    let value: unknown;
    try {
      value = parseSourceJson(line);
    } catch {
      throw new InputError(`${this.#path}:${number} is not JSON.`);
    }
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
    throw new InputError(`${this.#path}:${number} is not a JSON object.`);
  }
}

const frameIn = ({ export: head, id }: Record<string, unknown>): ExportHead | null =>
  typeof head === 'object' && head !== null && id === undefined ? head : null;

function textOf(bytes: Uint8Array, path: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new InputError(`${path} is not UTF-8.`);
  }
}
