import { ExportFrame, type ExportLine, LINE_MAX_CHARS, lineOf, tooLong } from './export-frame.ts';
import { APIConnectionError } from './http/errors.ts';
import type { StreamingAnswer } from './http/transport.ts';

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
   * The bytes as they arrive, for example to store in a file. The stream fails with a ProvecError
   * if they do not begin with the head of an export or do not end with its end.
   */
  bytes(): ReadableStream<Uint8Array> {
    const frame = new ExportFrame();
    return this.#answer.body.pipeThrough(
      new TransformStream<Uint8Array, Uint8Array>({
        transform(chunk, controller) {
          frame.takeBytes(chunk);
          controller.enqueue(chunk);
        },
        flush: () => {
          frame.end();
          this.#answer.end();
        },
      }),
    );
  }

  /** Ends the request. Rejects if the export is being read. */
  async cancel(): Promise<void> {
    await this.#answer.body.cancel();
    this.#answer.end();
  }

  /**
   * Yields the lines without line breaks, for `verifyExport`: the head, the records, the end.
   * Throws an APIConnectionError if the connection breaks or the end is missing, and a ServerError
   * if the first line is not a head or for a line over 4 MiB.
   */
  async *lines(): AsyncGenerator<string, void, undefined> {
    const frame = new ExportFrame();
    const decoder = new TextDecoder();
    let open = '';
    for await (const chunk of this.#chunks()) {
      const lines = (open + decoder.decode(chunk, { stream: true })).split('\n');
      open = lines.pop() ?? '';
      if ([...lines, open].some(({ length }) => length > LINE_MAX_CHARS)) throw tooLong();
      for (const line of lines) {
        frame.take(line);
        yield line;
      }
    }
    if (open !== '') {
      frame.take(open);
      yield open;
    }
    frame.end();
  }

  /** Yields the records. Throws a ProvecError if the export is incomplete. */
  async *[Symbol.asyncIterator](): AsyncGenerator<T, void, undefined> {
    for await (const line of this.lines()) {
      const item = lineOf(line);
      if (!('end' in item || 'export' in item)) yield item as T;
    }
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
