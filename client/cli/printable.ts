/** More than any id takes, however much of it is shown as numbers. */
const CHARS_MAX = 8_000;

/**
 * Text from a file or from the net, so that it says no more to a terminal than what it is: control
 * characters, line ends among them, and those that turn the direction of text are shown as numbers.
 */
export function printable(text: string): string {
  const shown = text.length > CHARS_MAX ? `${text.slice(0, CHARS_MAX)}...` : text;
  return shown.replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu, (char) => `\\u{${char.codePointAt(0)!.toString(16)}}`);
}
