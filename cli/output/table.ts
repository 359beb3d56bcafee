import { styleText } from 'node:util';
import { printable } from '../../client/cli/printable.ts';

/** Characters between two columns. */
const GAP = '  ';
const ELLIPSIS = '…';

const stdout = { stream: process.stdout };
/** Returns the text in bold, if stdout is a terminal with colours. */
const bold = (text: string): string => styleText('bold', text, stdout);
export const green = (text: string): string => styleText('green', text, stdout);
export const yellow = (text: string): string => styleText('yellow', text, stdout);
export const red = (text: string): string => styleText('red', text, stdout);

/** Makes a value safe and short enough for a cell. Objects become JSON; absent values are empty. */
function cell(value: unknown): string {
  if (value === undefined || value === null) return '';
  return printable(typeof value === 'object' ? JSON.stringify(value) : String(value));
}

/**
 * Returns the lines of a table, the names of its columns first. On a terminal, cuts lines to its
 * width.
 */
export function tableLines(columns: readonly string[], rows: readonly (readonly unknown[])[]): string[] {
  const shown = rows.map((row) => row.map(cell));
  const widths = columns.map((name, at) => Math.max(name.length, ...shown.map((row) => lengthOf(row[at] ?? ''))));
  const [head = '', ...lines] = [columns, ...shown].map((row) =>
    fitted(
      row
        .map((text, at) => padded(text, widths[at]!))
        .join(GAP)
        .trimEnd(),
    ),
  );
  return [bold(head), ...lines];
}

/** Returns lines of names and values. Both may come from the service. */
export function fieldLines(fields: Readonly<Record<string, unknown>>): string[] {
  const given = Object.entries(fields).filter(([, value]) => value !== undefined && value !== null);
  const shown = given.map(([name, value]) => [printable(name), cell(value)] as const);
  const width = Math.max(...shown.map(([name]) => lengthOf(name)));
  return shown.map(([name, value]) => `${bold(padded(name, width))}${GAP}${value}`);
}

const lengthOf = (text: string): number => Array.from(text).length;
const padded = (text: string, width: number): string => text + ' '.repeat(Math.max(0, width - lengthOf(text)));

function fitted(line: string): string {
  const { isTTY, columns = 0 } = process.stdout;
  const characters = Array.from(line);
  if (!isTTY || columns === 0 || characters.length <= columns) return line;
  return characters.slice(0, columns - 1).join('') + ELLIPSIS;
}
