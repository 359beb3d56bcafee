/** Maximum length in characters; longer than any id. */
const CHARS_MAX = 8_000;

/**
 * Makes untrusted text safe to print on a terminal. Control characters, line breaks and characters
 * that change the direction of text become `\u{...}` escapes.
 */
export function printable(text: string): string {
  const shown = text.length > CHARS_MAX ? `${text.slice(0, CHARS_MAX)}...` : text;
  return shown.replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu, (char) => `\\u{${char.codePointAt(0)!.toString(16)}}`);
}
