import { lastOf } from '../lib/checked-access.ts';

/** Maximum width of prose, in columns. */
export const WIDTH = 100;

export function table(head: string[], rows: (string | number)[][]): string {
  return [head, head.map(() => '---'), ...rows].map((row) => `| ${row.join(' | ')} |`).join('\n');
}

/** Wraps a paragraph to lines of at most `width` columns. */
export function wrapText(text: string, width = WIDTH): string {
  const lines = [''];
  for (const word of text.split(' ')) {
    const line = lastOf(lines);
    if (line === '') lines[lines.length - 1] = word;
    else if (line.length + 1 + word.length <= width) lines[lines.length - 1] = `${line} ${word}`;
    else lines.push(word);
  }
  return lines.join('\n');
}

export const formatNumber = (value: number): string => value.toLocaleString('en-US');
