const ALPHABET = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';
const ADDRESS_BYTES = 32;
const ADDRESS_CHARS_MAX = 44;

/** The base58 text (Bitcoin alphabet) of a ledger address of 32 bytes. */
export function encodeAddress(bytes: Uint8Array): string {
  if (bytes.length !== ADDRESS_BYTES) throw new RangeError(`An address has ${ADDRESS_BYTES} bytes.`);
  let number = bytes.reduce((sum, byte) => sum * 256n + BigInt(byte), 0n);
  let text = '';
  for (; number > 0n; number /= 58n) text = ALPHABET[Number(number % 58n)] + text;
  const zeros = bytes.findIndex((byte) => byte !== 0);
  return '1'.repeat(zeros < 0 ? bytes.length : zeros) + text;
}

/**
 * The 32 bytes of a ledger address; null when the text is none. Of the texts for one address only
 * the shortest is one.
 */
export function decodeAddress(text: string): Uint8Array | null {
  if (text.length > ADDRESS_CHARS_MAX) return null;
  let number = 0n;
  for (const char of text) {
    const digit = ALPHABET.indexOf(char);
    if (digit < 0) return null;
    number = number * 58n + BigInt(digit);
  }
  const bytes = new Uint8Array(ADDRESS_BYTES);
  for (let at = ADDRESS_BYTES - 1; at >= 0; at--, number >>= 8n) bytes[at] = Number(number & 255n);
  return number === 0n && encodeAddress(bytes) === text ? bytes : null;
}
