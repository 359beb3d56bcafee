/**
 * Verifies Ed25519 signatures like the ledger's validators (`verify_strict`): RFC 8032, section
 * 5.1.7, without the cofactor. Refuses values out of range and points of small order. Not constant
 * time, since all inputs are public.
 *
 * WebCrypto is no alternative: it is asynchronous, some browsers lack the algorithm, and runtimes
 * differ in the points that they accept.
 */
import { sha512 } from '@noble/hashes/sha2.js';
import { concatBytes } from '@noble/hashes/utils.js';

/** Extended coordinates: x = X / Z, y = Y / Z, T = X * Y / Z. */
interface Point {
  X: bigint;
  Y: bigint;
  Z: bigint;
  T: bigint;
}

const P = 2n ** 255n - 19n;
/** Order of the base point. */
const L = 2n ** 252n + 27742317777372353535851937790883648493n;
/** Coefficient d of the curve's equation: -121665 / 121666. */
const D = 0x52036cee2b6ffe738cc740797779e89800700a4d4141d8ab75eb4dca135978a3n;
const ROOT_OF_MINUS_ONE = 0x2b8324804fc1df0b2b4d00993dfbd7a72f431806ad2fe478c4ee1b274a0ea0b0n;
const ZERO: Point = { X: 0n, Y: 1n, Z: 1n, T: 0n };
const BASE: Point = {
  X: 0x216936d3cd6e53fec0a4e231fdd6dc5c692cc7609525a7b2c9562d608f25d51an,
  Y: 0x6666666666666666666666666666666666666666666666666666666666666658n,
  Z: 1n,
  T: 0x67875f0fd78b766566ea4e8e64abe37d20f09f80775152f56dde8ab3a5b7dda3n,
};
const KEY_BYTES = 32;
const SIGNATURE_BYTES = 64;
const SCALAR_BITS = 253n;

/** Whether `signature` (64 bytes) signs `message` with the key of `publicKey` (32 bytes). */
export function isSignedBy(publicKey: Uint8Array, signature: Uint8Array, message: Uint8Array): boolean {
  if (publicKey.length !== KEY_BYTES || signature.length !== SIGNATURE_BYTES) return false;
  const [encodedR, encodedS] = [signature.subarray(0, KEY_BYTES), signature.subarray(KEY_BYTES)];
  const s = numberIn(encodedS);
  const key = decode(publicKey);
  if (s >= L || key === null || isSmall(key)) return false;
  const k = numberIn(sha512(concatBytes(encodedR, publicKey, message))) % L;
  const r = sumOfProducts(s, BASE, k, { ...key, X: P - key.X, T: P - key.T });
  return !isSmall(r) && encode(r) === numberIn(encodedR);
}

/** Decodes a little-endian number. */
function numberIn(bytes: Uint8Array): bigint {
  return bytes.reduceRight((number, byte) => (number << 8n) + BigInt(byte), 0n);
}

/** Decodes a point; null if the bytes are not the canonical encoding of a point. */
function decode(bytes: Uint8Array): Point | null {
  const number = numberIn(bytes);
  const [y, parity] = [number % 2n ** 255n, number >> 255n];
  if (y >= P) return null;
  const square = modulo(y * y);
  const u = modulo(square - 1n);
  const v = modulo(D * square + 1n);
  const v3 = modulo(v * v * v);
  let x = modulo(u * v3 * power(modulo(u * v3 * v3 * v), (P - 5n) / 8n));
  const found = modulo(v * x * x);
  if (found === modulo(-u)) x = modulo(x * ROOT_OF_MINUS_ONE);
  else if (found !== u) return null;
  if (x === 0n && parity === 1n) return null;
  if (x % 2n !== parity) x = P - x;
  return { X: x, Y: y, Z: 1n, T: modulo(x * y) };
}

/** Encodes a point, as the little-endian number of its bytes. */
function encode({ X, Y, Z }: Point): bigint {
  const reciprocal = power(Z, P - 2n);
  return modulo(Y * reciprocal) + ((modulo(X * reciprocal) % 2n) << 255n);
}

/** Adds any two points of the curve, equal ones included (RFC 8032, section 5.1.4). */
function add(p: Point, q: Point): Point {
  const a = (p.Y - p.X) * (q.Y - q.X);
  const b = (p.Y + p.X) * (q.Y + q.X);
  const c = 2n * modulo(p.T * q.T) * D;
  const d = 2n * p.Z * q.Z;
  const [e, f, g, h] = [modulo(b - a), modulo(d - c), modulo(d + c), modulo(b + a)];
  return { X: modulo(e * f), Y: modulo(g * h), Z: modulo(f * g), T: modulo(e * h) };
}

/** Whether the point has small order: eight times the point is zero. */
function isSmall(point: Point): boolean {
  const twice = add(point, point);
  const fourTimes = add(twice, twice);
  const { X, Y, Z } = add(fourTimes, fourTimes);
  return X === 0n && Y === Z;
}

/** Returns a * p + b * q. */
function sumOfProducts(a: bigint, p: Point, b: bigint, q: Point): Point {
  const both = add(p, q);
  let sum = ZERO;
  for (let bit = SCALAR_BITS - 1n; bit >= 0n; bit--) {
    sum = add(sum, sum);
    const [hasA, hasB] = [(a >> bit) & 1n, (b >> bit) & 1n];
    if (hasA && hasB) sum = add(sum, both);
    else if (hasA) sum = add(sum, p);
    else if (hasB) sum = add(sum, q);
  }
  return sum;
}

function power(base: bigint, exponent: bigint): bigint {
  let result = 1n;
  for (let factor = base, left = exponent; left > 0n; left >>= 1n) {
    if (left & 1n) result = modulo(result * factor);
    factor = modulo(factor * factor);
  }
  return result;
}

/** Returns the non-negative remainder of a division by P. */
function modulo(value: bigint): bigint {
  const rest = value % P;
  return rest < 0n ? rest + P : rest;
}
