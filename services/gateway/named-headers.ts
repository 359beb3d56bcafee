import assert from 'node:assert/strict';
import { IncomingMessage } from 'node:http';
import { HEAD_MAX_BYTES } from './large-heads.ts';

const PROPERTIES = ['headers', 'headersDistinct'] as const;

/**
 * A request that offers no headers if the name of one is longer than a head may be. Node makes an
 * object of the headers before any handler runs. V8 hashes names of more than 16,383 characters by
 * their length only, so an object with many of them would take seconds.
 */
export class NamedHeadersRequest extends IncomingMessage {
  static {
    for (const name of PROPERTIES) {
      const { get, set } = Object.getOwnPropertyDescriptor(IncomingMessage.prototype, name) ?? {};
      assert(get !== undefined && set !== undefined, `${name} is no accessor`);
      Object.defineProperty(NamedHeadersRequest.prototype, name, {
        configurable: true,
        get(this: NamedHeadersRequest) {
          return this.hasLongName ? {} : (get.call(this) as unknown);
        },
        set,
      });
    }
  }

  #hasLongName: boolean | null = null;

  /** Whether the head must be refused. Call it once the head has arrived. */
  get hasLongName(): boolean {
    this.#hasLongName ??= this.rawHeaders.some((text, at) => at % 2 === 0 && text.length >= HEAD_MAX_BYTES);
    return this.#hasLongName;
  }
}
