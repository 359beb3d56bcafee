import type { ExportFile } from './export-file.ts';

/** Number of characters to buffer before a write. */
const CHUNK_CHARS = 256 * 1024;

/** Writes the lines of an export as they are. */
export class NdjsonExport implements ExportFile {
  readonly #sink: (text: string) => Promise<void>;
  readonly #recordsOnly: boolean;
  #text = '';

  /** `sink` gets the file, part by part. `recordsOnly` leaves out the first and the last line. */
  constructor(sink: (text: string) => Promise<void>, recordsOnly: boolean) {
    this.#sink = sink;
    this.#recordsOnly = recordsOnly;
  }

  async begin(line: string): Promise<void> {
    if (!this.#recordsOnly) await this.add(line);
  }

  async add(line: string): Promise<void> {
    this.#text += `${line}\n`;
    if (this.#text.length >= CHUNK_CHARS) await this.finish();
  }

  async end(line: string): Promise<void> {
    if (!this.#recordsOnly) await this.add(line);
  }

  async finish(): Promise<void> {
    const text = this.#text;
    this.#text = '';
    await this.#sink(text);
  }
}
