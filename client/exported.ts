import type { ExportLine } from './api/generated.ts';
import { ConnectionError } from './http/errors.ts';
import { parseJson } from './verify/json-text.ts';

export type ExportedRecord = Extract<ExportLine, { id: string }>;
export type ExportHead = Extract<ExportLine, { export: unknown }>['export'];

/** An export that has begun; to be read once, as records, lines or bytes. */
export class Exported implements AsyncIterable<ExportedRecord> {
  readonly #body: ReadableStream<Uint8Array>;

  constructor(body: ReadableStream<Uint8Array>) {
    this.#body = body;
  }

  /** As they come, to be kept as they are. Such a file lacks its last line where it was cut off. */
  bytes(): ReadableStream<Uint8Array> {
    return this.#body;
  }

  /**
   * Without their ends, for `verifyExport`: the head, the records, the end. Throws a
   * ConnectionError where the connection broke. Leaving the loop ends the request.
   */
  async *lines(): AsyncGenerator<string, void, undefined> {
    const decoder = new TextDecoder();
    let open = '';
    for await (const chunk of chunksOf(this.#body)) {
      const lines = (open + decoder.decode(chunk, { stream: true })).split('\n');
      open = lines.pop()!;
      yield* lines;
    }
    if (open !== '') yield open;
  }

  /** The records alone; throws a ConnectionError unless all came. */
  async *[Symbol.asyncIterator](): AsyncGenerator<ExportedRecord, void, undefined> {
    let isWhole = false;
    for await (const line of this.lines()) {
      const said = parseJson(line) as ExportLine;
      if ('end' in said) isWhole = true;
      else if (!('export' in said)) yield said;
    }
    if (!isWhole) throw new ConnectionError('The export was cut off: it has no end.');
  }
}

/** Not every browser can iterate a stream. */
async function* chunksOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array, void, undefined> {
  const reader = stream.getReader();
  let isDone = false;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      isDone = done;
      if (done) return;
      yield value;
    }
  } catch (cause) {
    isDone = true;
    if ((cause as Error).name !== 'TypeError') throw cause;
    throw new ConnectionError('The export was cut off.', { cause });
  } finally {
    if (!isDone) await reader.cancel();
  }
}
