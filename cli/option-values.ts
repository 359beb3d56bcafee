import { InvalidArgumentError } from 'commander';

/** Reads a whole number of an option. */
export function wholeNumber(text: string): number {
  const value = Number(text);
  if (!/^\d+$/.test(text) || !Number.isSafeInteger(value)) throw new InvalidArgumentError('Give a whole number.');
  return value;
}

/** Reads a number of an option. */
export function finiteNumber(text: string): number {
  const value = Number(text);
  if (text.trim() === '' || !Number.isFinite(value)) throw new InvalidArgumentError('Give a number.');
  return value;
}

/** Collects the values of an option that may be given several times. */
export const collected = (text: string, before: string[] = []): string[] => [...before, text];

/** Reads `name=text` of an option that may be given several times. */
export function pairs(text: string, before: Record<string, string> = {}): Record<string, string> {
  const at = text.indexOf('=');
  if (at <= 0) throw new InvalidArgumentError('Give a name and a text, such as team=search.');
  return { ...before, [text.slice(0, at)]: text.slice(at + 1) };
}

/** Returns the text of a command's help with its examples. */
export const examples = (...lines: string[]): string =>
  `\nExamples:\n${lines.map((line) => `  $ ${line}`).join('\n')}\n`;
