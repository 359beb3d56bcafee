import type { WrittenRecord } from './api/generated.ts';
import type { AnyMetadata, WithMetadata } from './api/metadata.ts';
import { recordText } from './http/body-text.ts';
import type { RawBody } from './http/transport.ts';

/** A record with an optional namespace, or a whole line of NDJSON. */
export type ImportedRecord<M extends object = AnyMetadata> =
  | WithMetadata<WrittenRecord & { namespace?: string }, M>
  | string;

/**
 * Source of an import: an iterable of records or lines, or NDJSON as text, bytes, a Blob, or a
 * stream of `fetch` or Node. Chunks of NDJSON may end anywhere.
 */
export type ImportSource<M extends object = AnyMetadata> =
  | Iterable<ImportedRecord<M>>
  | AsyncIterable<ImportedRecord<M> | Uint8Array>
  | ReadableStream<Uint8Array>
  | Blob
  | Uint8Array
  | string;

type Records = Iterable<ImportedRecord> | AsyncIterable<ImportedRecord | Uint8Array>;

/** Media type of imports and exports. */
export const NDJSON_TYPE = 'application/x-ndjson';
/** Number of characters that are collected before they are sent. */
const CHUNK_CHARS = 64 * 1024;

/** Body of an import, with the state of its source. */
export interface ImportBody extends RawBody {
  /** Returns what the source threw; `fetch` does not pass it on. */
  failure(): unknown;
  /** Closes the source. The caller must call it when the import succeeds or fails. */
  end(): void;
}

/** Throws TypeError for a stream that is already being read. */
export function importBody<M extends object>(source: ImportSource<M>): ImportBody {
  const idle = { contentType: NDJSON_TYPE, failure: () => undefined, end: () => undefined };
  if (typeof source === 'string' || ArrayBuffer.isView(source) || 'arrayBuffer' in source)
    return { ...idle, body: source as Blob, isRepeatable: true };
  if ('getReader' in source) {
    if (source.locked) throw new TypeError('The stream is locked: something reads it already.');
    return { ...idle, body: source, isRepeatable: false };
  }
  const lines = new LineStream(source as Records);
  const { stream } = lines;
  // A failing source must not hide the outcome of the import.
  const end = () => void lines.end().catch(() => undefined);
  return { body: stream, contentType: NDJSON_TYPE, isRepeatable: false, failure: () => lines.failure, end };
}

/** Stream of bytes that pulls records from their source only as fast as they are sent. */
class LineStream {
  failure: unknown;
  readonly stream: ReadableStream<Uint8Array>;
  readonly #records: Iterator<ImportedRecord> | AsyncIterator<ImportedRecord | Uint8Array>;
  readonly #encoder = new TextEncoder();
  #taken = 0;

  constructor(source: Records) {
    this.#records = Symbol.asyncIterator in source ? source[Symbol.asyncIterator]() : source[Symbol.iterator]();
    this.stream = new ReadableStream({ pull: (controller) => this.#pull(controller) });
  }

  /**
   * Closes a source that was not read to its end, since `fetch` does not always cancel it. Callers
   * do not await this: the source may itself be waiting.
   */
  async end(): Promise<void> {
    await this.#records.return?.();
  }

  async #pull(controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> {
    try {
      await yieldToEventLoop();
      const { chunks, isLast } = await this.#chunk();
      for (const chunk of chunks) if (chunk.length > 0) controller.enqueue(chunk);
      if (isLast) controller.close();
    } catch (error) {
      this.failure = error;
      controller.error(error);
    }
  }

  /** Collects about one chunk. Bytes are passed on unchanged, since they may end within a line. */
  async #chunk(): Promise<{ chunks: Uint8Array[]; isLast: boolean }> {
    let text = '';
    while (text.length < CHUNK_CHARS) {
      const { done, value } = await this.#records.next();
      if (done) return { chunks: [this.#encoder.encode(text)], isLast: true };
      if (ArrayBuffer.isView(value)) return { chunks: [this.#encoder.encode(text), value], isLast: false };
      text += lineOf(value, this.#taken++);
    }
    return { chunks: [this.#encoder.encode(text)], isLast: false };
  }
}

/**
 * Yields to Node's event loop. Otherwise a source that never waits would keep Node from noticing
 * that the service has refused the import.
 */
const yieldToEventLoop = (): Promise<void> =>
  new Promise((resolve) => {
    const { setImmediate } = globalThis as { setImmediate?: (resolve: () => void) => void };
    if (setImmediate === undefined) resolve();
    else setImmediate(resolve);
  });

function lineOf(record: ImportedRecord, at: number): string {
  const text = typeof record === 'string' ? record : recordText(record, at);
  return text.endsWith('\n') ? text : `${text}\n`;
}
