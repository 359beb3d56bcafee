import { getBase58Encoder, isAddress, isSignature } from '@solana/web3.js';
import { invalidParams, RPC_ERROR, RpcError } from './rpc-error.ts';

const COMMITMENTS = ['processed', 'confirmed', 'finalized'];
const base58 = getBase58Encoder();

/**
 * The parameters of one call: positional, each read and checked once. Every reader throws RpcError.
 */
export class RpcParams {
  readonly #values: readonly unknown[];

  constructor(params: unknown) {
    if (params !== undefined && params !== null && !Array.isArray(params)) throw invalidParams('expected an array');
    this.#values = params ?? [];
  }

  address(index: number): string {
    return asAddress(this.#values[index], `parameter ${index}`);
  }

  addresses(index: number, max: number): string[] {
    return this.#list(index, max).map((value) => asAddress(value, `parameter ${index}`));
  }

  signature(index: number): string {
    return asSignature(this.#values[index], `parameter ${index}`);
  }

  signatures(index: number, max: number): string[] {
    return this.#list(index, max).map((value) => asSignature(value, `parameter ${index}`));
  }

  integer(index: number, min: number, max: number): number {
    return asInteger(this.#values[index], min, max, `parameter ${index}`);
  }

  text(index: number, maxChars: number): string {
    const value = this.#values[index];
    if (typeof value !== 'string' || value.length > maxChars) {
      throw invalidParams(`parameter ${index} must be a string of at most ${maxChars} characters`);
    }
    return value;
  }

  has(index: number): boolean {
    return this.#values[index] !== undefined && this.#values[index] !== null;
  }

  options(index: number): RpcOptions {
    return new RpcOptions(this.#values[index]);
  }

  #list(index: number, max: number): unknown[] {
    const value = this.#values[index];
    if (!Array.isArray(value)) throw invalidParams(`parameter ${index} must be an array`);
    if (value.length > max) throw invalidParams(`parameter ${index} has ${value.length} items, more than ${max}`);
    return value;
  }
}

/**
 * The trailing configuration object of a call; fields that it does not know are ignored, as
 * validators do.
 */
export class RpcOptions {
  readonly #fields: Map<string, unknown>;

  constructor(value: unknown) {
    if (value !== undefined && value !== null && (typeof value !== 'object' || Array.isArray(value))) {
      throw invalidParams('the configuration must be an object');
    }
    this.#fields = new Map(Object.entries(value ?? {}));
  }

  /** Checks what every method shares; on this ledger all commitments are one. */
  checkContext(slot: number): void {
    const commitment = this.#fields.get('commitment');
    if (commitment !== undefined && commitment !== null) this.oneOf('commitment', COMMITMENTS, 'finalized');
    const minContextSlot = this.integer('minContextSlot', 0, Number.MAX_SAFE_INTEGER, 0);
    if (minContextSlot > slot) {
      throw new RpcError(RPC_ERROR.MIN_CONTEXT_SLOT, 'Minimum context slot has not been reached', {
        contextSlot: slot,
      });
    }
  }

  integer(name: string, min: number, max: number, fallback: number): number {
    const value = this.#fields.get(name);
    return value === undefined || value === null ? fallback : asInteger(value, min, max, name);
  }

  flag(name: string): boolean {
    const value = this.#fields.get(name);
    if (value !== undefined && value !== null && typeof value !== 'boolean') {
      throw invalidParams(`${name} must be true or false`);
    }
    return value === true;
  }

  oneOf<T extends string>(name: string, values: readonly T[], fallback: T): T {
    const value = this.#fields.get(name);
    if (value === undefined || value === null) return fallback;
    if (!(values as readonly unknown[]).includes(value)) {
      throw invalidParams(`${name} must be one of ${values.join(', ')}`);
    }
    return value as T;
  }

  signature(name: string): string | null {
    const value = this.#fields.get(name);
    return value === undefined || value === null ? null : asSignature(value, name);
  }

  nested(name: string): RpcOptions {
    return new RpcOptions(this.#fields.get(name));
  }
}

/** Bytes of a base58 or base64 text that is exactly what encoding those bytes gives. */
export function decodeBytes(text: string, encoding: 'base58' | 'base64'): Buffer {
  if (encoding === 'base64') {
    const bytes = Buffer.from(text, 'base64');
    if (bytes.toString('base64') !== text) throw invalidParams('not canonical base64');
    return bytes;
  }
  try {
    return Buffer.from(base58.encode(text));
  } catch {
    throw invalidParams('not base58');
  }
}

function asAddress(value: unknown, name: string): string {
  if (typeof value !== 'string' || value.length > 44 || !isAddress(value)) {
    throw invalidParams(`${name} must be a base58 address of 32 bytes`);
  }
  return value;
}

function asSignature(value: unknown, name: string): string {
  if (typeof value !== 'string' || value.length > 88 || !isSignature(value)) {
    throw invalidParams(`${name} must be a base58 signature of 64 bytes`);
  }
  return value;
}

function asInteger(value: unknown, min: number, max: number, name: string): number {
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < min || value > max) {
    throw invalidParams(`${name} must be a whole number from ${min} to ${max}`);
  }
  return value;
}
