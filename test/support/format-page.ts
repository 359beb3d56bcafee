import { readFileSync } from 'node:fs';

/** The blocks and tables of docs/format.md. */
export class FormatPage {
  readonly text: string;
  /** Fenced blocks with a name. */
  readonly #blocks: ReadonlyMap<string, string>;

  constructor(text: string) {
    this.text = text;
    const blocks = text.matchAll(/^```\w+ (?<name>[\w-]+)\n(?<body>[\s\S]*?)^```$/gm);
    this.#blocks = new Map(Array.from(blocks, ({ groups }) => [groups!.name!, groups!.body!]));
  }

  static read(): FormatPage {
    return new FormatPage(readFileSync(new URL('../../docs/format.md', import.meta.url), 'utf8'));
  }

  get blockNames(): string[] {
    return [...this.#blocks.keys()];
  }

  block(name: string): string {
    const body = this.#blocks.get(name);
    if (body === undefined) throw new Error(`docs/format.md has no block ${name}`);
    return body;
  }

  /** Lines of a block, split at every two spaces. */
  cells(name: string): string[][] {
    return this.block(name)
      .trimEnd()
      .split('\n')
      .map((line) => line.trimEnd().split(/ {2,}/));
  }

  /** Rows of the table with this heading, without backticks around whole cells. */
  table(...heading: string[]): string[][] {
    const head = `| ${heading.join(' | ')} |\n`;
    const from = this.text.indexOf(head);
    if (from < 0) throw new Error(`docs/format.md has no table ${head}`);
    const rows = this.text.slice(from + head.length).split('\n');
    const end = rows.findIndex((row) => !row.startsWith('|'));
    return rows.slice(1, end).map((row) =>
      row
        .slice(2, -2)
        .split(' | ')
        .map((cell) => cell.replace(/^`([^`]*)`$/, '$1')),
    );
  }
}
