import type { WrittenRecord } from './api/generated.ts';
import type { AnyMetadata, WithMetadata } from './api/metadata.ts';
import { recordText } from './http/body-text.ts';
import type { RawBody } from './http/transport.ts';

/** A record of any namespace, or a whole line of NDJSON. */
export type ImportedRecord<M extends object = AnyMetadata> =
  | WithMetadata<WrittenRecord & { namespace?: string }, M>
  | string;

/**
 * What an import reads: records or lines, or NDJSON as bytes or text: whole, as a Blob, or as a
 * stream (of `fetch`, or of Node), however it is cut into chunks.
 */
export type ImportSource<M extends object = AnyMetadata> =
  | Iterable<ImportedRecord<M>>
  | AsyncIterable<ImportedRecord<M> | Uint8Array>
  | ReadableStream<Uint8Array>
  | Blob
  | Uint8Array
  | string;

type Records = Iterable<ImportedRecord> | AsyncIterable<ImportedRecord | Uint8Array>;

const TYPE = 'application/x-ndjson';
/** Of text that goes out at once. */
const CHUNK_CHARS = 64 * 1024;

/** The body of an import, with what its source needs beside. */
export interface ImportBody extends RawBody {
  /** What the source threw, which `fetch` does not pass on. */
  failure(): unknown;
  /** To be called when the import has ended, however it did. */
  end(): void;
}

/** Throws TypeError for a stream that is being read already. */
export function importBody<M extends object>(source: ImportSource<M>): ImportBody {
  const idle = { contentType: TYPE, failure: () => undefined, end: () => undefined };
  if (typeof source === 'string' || ArrayBuffer.isView(source) || 'arrayBuffer' in source)
    return { ...idle, body: source as Blob, isRepeatable: true };
  if ('getReader' in source) {
    if (source.locked) throw new TypeError('The stream is locked: something reads it already.');
    return { ...idle, body: source, isRepeatable: false };
  }
  const lines = new LineStream(source as Records);
  const { stream } = lines;
  const end = () => void lines.end().catch(() => undefined);
  return { body: stream, contentType: TYPE, isRepeatable: false, failure: () => lines.failure, end };
}

/** Records as a stream of bytes, read from their source as fast as they are sent. */
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
   * Closes the source where it was not read to its end: `fetch` does not always cancel. Nobody
   * waits for it, since it may be waiting itself.
   */
  async end(): Promise<void> {
    await this.#records.return?.();
  }

  async #pull(controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> {
    try {
      await turn();
      const { chunks, isLast } = await this.#chunk();
      for (const chunk of chunks) if (chunk.length > 0) controller.enqueue(chunk);
      if (isLast) controller.close();
    } catch (error) {
      this.failure = error;
      controller.error(error);
    }
  }

  /** Records of about a chunk; bytes as they are, since a line may be cut anywhere between two. */
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
 * A turn of Node's event loop: a source that never waits would keep it from seeing that the service
 * refused the import already.
 */
const turn = (): Promise<void> =>
  new Promise((resolve) => {
    const { setImmediate } = globalThis as { setImmediate?: (resolve: () => void) => void };
    if (setImmediate === undefined) resolve();
    else setImmediate(resolve);
  });

function lineOf(record: ImportedRecord, at: number): string {
  const text = typeof record === 'string' ? record : recordText(record, at);
  return text.endsWith('\n') ? text : `${text}\n`;
}
