import type { ExportLine } from './api/generated.ts';
import { APIConnectionError, ServerError } from './http/errors.ts';
import { assertAnswer } from './http/shape.ts';
import type { OpenAnswer } from './http/transport.ts';
import { parseJson } from './verify/json-text.ts';

/** Status of an answer that streams. */
const OK = 200;
/** Maximum number of characters of a line: ten times what any record takes. */
const LINE_MAX_CHARS = 4 * 1024 * 1024;

export type ExportedRecord = Extract<ExportLine, { id: string }>;

/**
 * An export that has begun, to be read once: as records, as lines or as bytes. Until it is read to
 * its end, left in the middle of a loop, or cancelled, it holds a connection.
 */
export class Exported<T = ExportedRecord> implements AsyncIterable<T> {
  readonly #answer: OpenAnswer;

  constructor(answer: OpenAnswer) {
    this.#answer = answer;
  }

  /**
   * As they come, to be kept as they are. A file of them lacks its last line where it was cut off.
   */
  bytes(): ReadableStream<Uint8Array> {
    return this.#answer.body;
  }

  /** Ends the request, unless something reads it already. */
  async cancel(): Promise<void> {
    await this.#answer.body.cancel();
    this.#answer.end();
  }

  /**
   * Without their ends, for `verifyExport`: the head, the records, the end. Throws an
   * APIConnectionError where the connection broke, and a ServerError for a line over 4 MiB.
   */
  async *lines(): AsyncGenerator<string, void, undefined> {
    const decoder = new TextDecoder();
    let open = '';
    for await (const chunk of this.#chunks()) {
      const lines = (open + decoder.decode(chunk, { stream: true })).split('\n');
      open = lines.at(-1)!;
      if (lines.some(({ length }) => length > LINE_MAX_CHARS)) {
        const error = `The export has a line of more than ${LINE_MAX_CHARS} characters: is this the address of a Provec?`;
        throw new ServerError({ error, status: OK });
      }
      yield* lines.slice(0, -1);
    }
    if (open !== '') yield open;
  }

  /** The records alone; throws a ProvecError unless all came. */
  async *[Symbol.asyncIterator](): AsyncGenerator<T, void, undefined> {
    let isWhole = false;
    for await (const line of this.lines()) {
      const said = lineOf(line);
      if ('end' in said) isWhole = true;
      else if (!('export' in said)) yield said as T;
    }
    if (!isWhole) throw new APIConnectionError('The export was cut off: it has no end.');
  }

  /** Not every browser can iterate a stream. */
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
      // Of a body that was read to its end, or that broke, this does nothing.
      await reader.cancel().catch(() => undefined);
      this.#answer.end();
    }
  }
}

/** Throws a ProvecError for a value that is not a line of an export. */
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
