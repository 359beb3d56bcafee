import type { ExportLine } from './api/generated.ts';
import { APIConnectionError, ServerError } from './http/errors.ts';
import { assertAnswer } from './http/shape.ts';
import { parseJson } from './verify/json-text.ts';

export type { ExportLine };

/** HTTP status of an answer that streams. */
const OK = 200;
/** Maximum number of characters in a line: ten times that of the largest record. */
export const LINE_MAX_CHARS = 4 * 1024 * 1024;
/** More bytes than the last line of an export takes. */
const END_MAX_BYTES = 4 * 1024;
const NEWLINE = 0x0a;
const CUT_OFF = 'The export was cut off: it has no end.';

/** Checks the first and the last line of an export, given its lines or its bytes. */
export class ExportFrame {
  #hasHead = false;
  #last = '';
  /** Bytes of the first line as far as they have arrived. */
  #begun: Uint8Array[] = [];
  #begunBytes = 0;
  #tail: Uint8Array = new Uint8Array(0);

  /** Throws a ProvecError if the line is the first one and not a head. */
  take(line: string): void {
    if (!this.#hasHead && !('export' in lineOf(line))) {
      const error = 'The export has no head: is this the address of a Provec?';
      throw new ServerError({ error, status: OK });
    }
    this.#hasHead = true;
    this.#last = line;
  }

  /** Throws a ProvecError if the bytes do not begin with a head. */
  takeBytes(bytes: Uint8Array): void {
    if (!this.#hasHead) this.#takeHead(bytes);
    const recent = bytes.subarray(-END_MAX_BYTES);
    this.#tail = joined([this.#tail, recent]).subarray(-END_MAX_BYTES);
  }

  /** Throws an APIConnectionError if the last line is not the end of an export. */
  end(): void {
    if (this.#tail.length > 0) {
      const text = new TextDecoder().decode(this.#tail).replace(/\n$/, '');
      this.#last = text.slice(text.lastIndexOf('\n') + 1);
    }
    if (!this.#hasHead || !isEnd(this.#last)) throw new APIConnectionError(CUT_OFF);
  }

  #takeHead(bytes: Uint8Array): void {
    const end = bytes.indexOf(NEWLINE);
    // Copied, because the receiver of the bytes may change them.
    const part = bytes.slice(0, end < 0 ? bytes.length : end);
    this.#begun.push(part);
    this.#begunBytes += part.length;
    if (this.#begunBytes > LINE_MAX_CHARS) throw tooLong();
    if (end < 0) return;
    this.take(new TextDecoder().decode(joined(this.#begun)));
    this.#begun = [];
  }
}

export function tooLong(): ServerError {
  const error = `The export has a line of more than ${LINE_MAX_CHARS} characters: is this the address of a Provec?`;
  return new ServerError({ error, status: OK });
}

/** Parses a line. Throws a ProvecError if it is not a line of an export. */
export function lineOf(text: string): ExportLine {
  let line: unknown;
  try {
    line = parseJson(text);
  } catch (cause) {
    throw new APIConnectionError('The export was cut off, or holds a line that is not JSON.', { cause });
  }
  assertAnswer('exportRecords', line, OK);
  return line as ExportLine;
}

function isEnd(text: string): boolean {
  try {
    return 'end' in lineOf(text);
  } catch {
    // What the line is instead does not matter.
    return false;
  }
}

function joined(parts: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
