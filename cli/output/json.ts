/** Characters that JSON allows in strings, but that can steer a terminal. */
const STEERING = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** Returns JSON on one line. Control and format characters are escaped, which keeps its value. */
export const jsonLine = (value: unknown): string => `${escapedJson(JSON.stringify(value))}\n`;

/** Escapes control and format characters in a line of JSON, which must not contain line breaks. */
export function escapedJson(text: string): string {
  return text.replace(STEERING, (char) =>
    Array.from({ length: char.length }, (_, at) => `\\u${char.charCodeAt(at).toString(16).padStart(4, '0')}`).join(''),
  );
}
