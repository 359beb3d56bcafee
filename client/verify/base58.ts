const ALPHABET = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';
const ADDRESS_BYTES = 32;
const SIGNATURE_BYTES = 64;

/** Returns the base58 text (Bitcoin alphabet) of a ledger address of 32 bytes. */
export function encodeAddress(bytes: Uint8Array): string {
  if (bytes.length !== ADDRESS_BYTES) throw new RangeError(`An address has ${ADDRESS_BYTES} bytes.`);
  return encode(bytes);
}

/**
 * Returns the 32 bytes of a ledger address, or null if the text is not one. Accepts only the
 * shortest text of an address.
 */
export const decodeAddress = (text: string): Uint8Array | null => decode(text, ADDRESS_BYTES);

/** Returns the 64 bytes of a transaction's signature, or null if the text is not one. */
export const decodeSignature = (text: string): Uint8Array | null => decode(text, SIGNATURE_BYTES);

function encode(bytes: Uint8Array): string {
  let number = bytes.reduce((sum, byte) => sum * 256n + BigInt(byte), 0n);
  let text = '';
  for (; number > 0n; number /= 58n) text = ALPHABET[Number(number % 58n)] + text;
  const zeros = bytes.findIndex((byte) => byte !== 0);
  return '1'.repeat(zeros < 0 ? bytes.length : zeros) + text;
}

function decode(text: string, length: number): Uint8Array | null {
  // Eleven base58 digits can hold eight bytes.
  if (text.length > (length * 11) / 8) return null;
  let number = 0n;
  for (const char of text) {
    const digit = ALPHABET.indexOf(char);
    if (digit < 0) return null;
    number = number * 58n + BigInt(digit);
  }
  const bytes = new Uint8Array(length);
  for (let at = length - 1; at >= 0; at--, number >>= 8n) bytes[at] = Number(number & 255n);
  return number === 0n && encode(bytes) === text ? bytes : null;
}
