import type { Api } from '../../client/index.ts';

/** Content of the first line of an export. */
export type ExportHead = Extract<Api.ExportLine, { export: object }>['export'];

/** A file that gets the lines of an export, without their line breaks. */
export interface ExportFile {
  /** Adds the first line; `head` is its parsed content. */
  begin(line: string, head: ExportHead): Promise<void>;
  /** Adds the line of a record. */
  add(line: string): Promise<void>;
  /** Adds the last line. */
  end(line: string): Promise<void>;
  /** Writes what is buffered. */
  finish(): Promise<void>;
}
