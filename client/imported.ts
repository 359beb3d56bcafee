import type { WrittenRecord } from './api/generated.ts';
import { withLists } from './http/body-text.ts';
import type { RawBody } from './http/transport.ts';

/** A record of any namespace, or a line of NDJSON. */
export type ImportedRecord = (WrittenRecord & { namespace?: string }) | string;

/**
 * What an import reads: records or lines, or the bytes of NDJSON, as an export or a file has them.
 */
export type ImportSource = Iterable<ImportedRecord> | AsyncIterable<ImportedRecord> | ReadableStream<Uint8Array> | Blob;

const TYPE = 'application/x-ndjson';
/** Of text that goes out at once. */
const CHUNK_CHARS = 64 * 1024;

/** The body of an import; `failure` is what the source threw, which `fetch` does not pass on. */
export interface ImportBody extends RawBody {
  failure(): unknown;
}

export function importBody(source: ImportSource): ImportBody {
  const none = () => undefined;
  if (source instanceof Blob) return { body: source, contentType: TYPE, isRepeatable: true, failure: none };
  if (source instanceof ReadableStream) return { body: source, contentType: TYPE, isRepeatable: false, failure: none };
  const lines = new LineStream(source);
  return { body: lines.stream, contentType: TYPE, isRepeatable: false, failure: () => lines.failure };
}

/** Records as a stream of bytes, read from their source as fast as they are sent. */
class LineStream {
  failure: unknown;
  readonly stream: ReadableStream<Uint8Array>;

  constructor(source: Iterable<ImportedRecord> | AsyncIterable<ImportedRecord>) {
    const records = Symbol.asyncIterator in source ? source[Symbol.asyncIterator]() : source[Symbol.iterator]();
    const encoder = new TextEncoder();
    this.stream = new ReadableStream({
      pull: async (controller) => {
        try {
          const { text, isLast } = await chunkOf(records);
          if (text !== '') controller.enqueue(encoder.encode(text));
          if (isLast) controller.close();
        } catch (error) {
          this.failure = error;
          controller.error(error);
        }
      },
      cancel: async () => {
        await records.return?.();
      },
    });
  }
}

async function chunkOf(
  records: Iterator<ImportedRecord> | AsyncIterator<ImportedRecord>,
): Promise<{ text: string; isLast: boolean }> {
  let text = '';
  while (text.length < CHUNK_CHARS) {
    const { done, value } = await records.next();
    if (done) return { text, isLast: true };
    text += `${typeof value === 'string' ? value : JSON.stringify(withLists(value))}\n`;
  }
  return { text, isLast: false };
}
