/** Detects integers in JSON text that parsers round because no double can represent them. */

/** All integers with fewer digits are exact doubles. */
const LONG_MIN_DIGITS = 16;
/** Integers with more digits exceed every double. */
const LONG_MAX_DIGITS = 309;
/** Maximum number of long integers examined in one text. */
const LOOKED_AT_MAX = 1_000;
const [ZERO, NINE, PLUS, MINUS, POINT, E, SMALL_E] = [0x30, 0x39, 0x2b, 0x2d, 0x2e, 0x45, 0x65];

export class RoundedInteger {
  /** First such integer, as written in the text. */
  text: string | null = null;
  #left = LOOKED_AT_MAX;

  /** Examines the number whose first digit is at `start`. Returns the offset after it. */
  examine(bytes: Buffer, start: number): number {
    let at = start;
    while (isDigit(bytes[at])) at++;
    const end = endOfNumber(bytes, at);
    const digits = at - start;
    const isLong = end === at && digits >= LONG_MIN_DIGITS && digits <= LONG_MAX_DIGITS;
    if (isLong && this.text === null && this.#left-- > 0) {
      const text = bytes.toString('latin1', start, end);
      if (isRounded(text)) this.text = bytes[start - 1] === MINUS ? `-${text}` : text;
    }
    return end;
  }
}

/** Returns true if parsing yields another, finite value. Value checks refuse infinity. */
function isRounded(digits: string): boolean {
  const read = Number(digits);
  return Number.isFinite(read) && BigInt(digits) !== BigInt(read);
}

const isDigit = (byte: number | undefined): boolean => byte !== undefined && byte >= ZERO && byte <= NINE;

function endOfNumber(bytes: Buffer, from: number): number {
  let at = from;
  for (let byte = bytes[at]; isDigit(byte) || isBetweenDigits(byte); byte = bytes[at]) at++;
  return at;
}

const isBetweenDigits = (byte: number | undefined): boolean =>
  byte === POINT || byte === E || byte === SMALL_E || byte === PLUS || byte === MINUS;
