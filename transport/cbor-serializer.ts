import { addExtension, Encoder } from 'cbor-x';
import { Serializers } from 'moleculer';
import { escapeForCbor } from './cbor-escape.ts';

/** Size above which the encoder's buffer is replaced, because it would keep it. */
const KEPT_BUFFER_MAX_BYTES = 1024 * 1024;
const FRESH_BUFFER_BYTES = 8 * 1024;

/** RFC 8746: float32, little-endian. */
const FLOAT32_LE_TAG = 85;

// cbor-x would copy the bytes twice or, without `copyBuffers`, keep the whole message in memory.
addExtension<Float32Array, Uint8Array>({
  Class: Float32Array,
  tag: FLOAT32_LE_TAG,
  encode: (values, encode) => encode(Buffer.from(values.buffer, values.byteOffset, values.byteLength)),
  decode: (bytes) => {
    const isOwn = bytes.byteLength === bytes.buffer.byteLength;
    return new Float32Array(isOwn ? bytes.buffer : bytes.slice().buffer);
  },
});

/**
 * CBOR between nodes: what arrives equals what was sent, as if the action ran on the same node.
 *
 * Float32Array and Uint8Array own their memory (a Buffer arrives as a Uint8Array). Map, Set, Date,
 * bigint, undefined, -0, infinities, NaN, lone surrogates and keys such as `__proto__` are
 * preserved. Functions and symbols are rejected.
 */
export class CborSerializer extends Serializers.Base {
  readonly #encoder = new Encoder({
    useRecords: false,
    // Without this, objects with more than 65,535 keys are truncated.
    variableMapSize: true,
    tagUint8Array: false,
    copyBuffers: true,
  }) as Encoder & { useBuffer(buffer: Uint8Array): void };

  /** Throws for values that CBOR cannot represent. */
  override serialize(value: unknown): Buffer {
    const bytes = this.#encoder.encode(escapeForCbor(value));
    if (bytes.length > KEPT_BUFFER_MAX_BYTES) this.#encoder.useBuffer(Buffer.allocUnsafeSlow(FRESH_BUFFER_BYTES));
    return bytes;
  }

  /** Throws for bytes that are not CBOR. */
  override deserialize(bytes: Buffer): unknown {
    // A plain Uint8Array, because cbor-x makes slices of the same class.
    return this.#encoder.decode(new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength));
  }
}
