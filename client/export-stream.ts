import type { ExportLine } from './api/generated.ts';
import { APIConnectionError, ServerError } from './http/errors.ts';
import { assertAnswer } from './http/shape.ts';
import type { StreamingAnswer } from './http/transport.ts';
import { parseJson } from './verify/json-text.ts';

/** HTTP status of an answer that streams. */
const OK = 200;
/** Maximum number of characters in a line: ten times that of the largest record. */
const LINE_MAX_CHARS = 4 * 1024 * 1024;

export type ExportedRecord = Extract<ExportLine, { id: string }>;

/**
 * An export that has begun. It can be read once: as records, as lines or as bytes. It holds a
 * connection until it is read to the end, a loop over it ends early, or it is cancelled.
 */
export class Exported<T = ExportedRecord> implements AsyncIterable<T> {
  readonly #answer: StreamingAnswer;

  constructor(answer: StreamingAnswer) {
    this.#answer = answer;
  }

  /**
   * The bytes as they arrive, for example to store in a file. If the export is cut off, its last
   * line is missing.
   */
  bytes(): ReadableStream<Uint8Array> {
    return this.#answer.body;
  }

  /** Ends the request. Rejects if the export is being read. */
  async cancel(): Promise<void> {
    await this.#answer.body.cancel();
    this.#answer.end();
  }

  /**
   * Yields the lines without line breaks, for `verifyExport`: the head, the records, the end.
   * Throws an APIConnectionError if the connection breaks, and a ServerError for a line over 4 MiB.
   */
  async *lines(): AsyncGenerator<string, void, undefined> {
    const decoder = new TextDecoder();
    let open = '';
    for await (const chunk of this.#chunks()) {
      const lines = (open + decoder.decode(chunk, { stream: true })).split('\n');
      open = lines.pop() ?? '';
      if ([...lines, open].some(({ length }) => length > LINE_MAX_CHARS)) {
        const error = `The export has a line of more than ${LINE_MAX_CHARS} characters: is this the address of a Provec?`;
        throw new ServerError({ error, status: OK });
      }
      yield* lines;
    }
    if (open !== '') yield open;
  }

  /** Yields the records. Throws a ProvecError if the export is incomplete. */
  async *[Symbol.asyncIterator](): AsyncGenerator<T, void, undefined> {
    let isWhole = false;
    for await (const line of this.lines()) {
      const item = lineOf(line);
      if ('end' in item) isWhole = true;
      else if (!('export' in item)) yield item as T;
    }
    if (!isWhole) throw new APIConnectionError('The export was cut off: it has no end.');
  }

  /** Yields chunks through a reader, since some browsers cannot iterate over a stream. */
  async *#chunks(): AsyncGenerator<Uint8Array, void, undefined> {
    const { body, signal } = this.#answer;
    const reader = body.getReader();
    try {
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return;
        yield value;
      }
    } catch (cause) {
      signal?.throwIfAborted();
      throw new APIConnectionError('The export was cut off.', { cause });
    } finally {
      // This has no effect if the body was read to its end or failed.
      await reader.cancel().catch(() => undefined);
      this.#answer.end();
    }
  }
}

/** Parses a line. Throws a ProvecError if it is not a line of an export. */
function lineOf(text: string): ExportLine {
  let line: unknown;
  try {
    line = parseJson(text);
  } catch (cause) {
    throw new APIConnectionError('The export was cut off, or holds a line that is not JSON.', { cause });
  }
  assertAnswer('exportRecords', line, OK);
  return line as ExportLine;
}
