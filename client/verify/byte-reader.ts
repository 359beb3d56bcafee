import { requireThat, type VerificationFailure } from './verification-error.ts';

/** Reads little-endian data from front to back. Methods throw a VerificationError at the end. */
export class ByteReader {
  readonly #data: Uint8Array;
  readonly #view: DataView;
  readonly #what: string;
  #at = 0;

  /** `what`: name of the data in errors, such as "The account". */
  constructor(data: Uint8Array, what: string) {
    this.#data = data;
    this.#view = new DataView(data.buffer, data.byteOffset, data.byteLength);
    this.#what = what;
  }

  get left(): number {
    return this.#data.length - this.#at;
  }

  get done(): boolean {
    return this.left === 0;
  }

  bytes(length: number): Uint8Array {
    requireThat(length <= this.left, 'malformed', `${this.#what} ends too early.`);
    this.#at += length;
    return this.#data.subarray(this.#at - length, this.#at);
  }

  u8(): number {
    this.bytes(1);
    return this.#view.getUint8(this.#at - 1);
  }

  u16(): number {
    this.bytes(2);
    return this.#view.getUint16(this.#at - 2, true);
  }

  u32(): number {
    this.bytes(4);
    return this.#view.getUint32(this.#at - 4, true);
  }

  /** Reads the length (u32) and then that many bytes of UTF-8. Throws if they are not UTF-8. */
  text(): string {
    const bytes = this.bytes(this.u32());
    try {
      return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
    } catch {
      requireThat(false, 'malformed', `${this.#what} has text that is not UTF-8.`);
    }
  }
}

/** Decodes base64. Throws a VerificationError for anything else. */
export function bytesFromBase64(text: unknown, reason: VerificationFailure, what: string): Uint8Array {
  requireThat(isBase64(text), reason, `${what} is not base64.`);
  return Uint8Array.from(atob(text), (char) => char.charCodeAt(0));
}

export function isBase64(text: unknown): text is string {
  return typeof text === 'string' && text.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(text);
}
