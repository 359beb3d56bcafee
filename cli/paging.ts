import { type Command, Option } from 'commander';
import type { Listing } from '../client/index.ts';
import { wholeNumber } from './option-values.ts';
import { writeError } from './output/streams.ts';
import type { Session } from './session.ts';

/** Number of rows that a command shows by default. */
const ROWS = 100;

export interface PagingOptions {
  limit?: number;
  all?: true;
}

/** Adds --limit and --all to a command that lists `what`. */
export const withPaging = (command: Command, what: string): Command =>
  command
    .addOption(
      new Option('--limit <n>', `maximum number of ${what}; ${ROWS} by default`)
        .argParser(wholeNumber)
        .conflicts('all'),
    )
    .option('--all', `list all ${what}`);

/** Rows of a long list. `hasMore`: whether there are others. */
export interface Rows<P, T> {
  rows: T[];
  hasMore: boolean;
  /** Pages that contain the rows. */
  pages: P[];
}

/** Returns the first rows of a list, or all. Reads no page that is not needed. */
export async function firstRows<P extends { nextCursor?: string | null }, T>(
  listing: Listing<P, T>,
  rowsOf: (page: P) => readonly T[],
  { limit = ROWS, all }: PagingOptions,
): Promise<Rows<P, T>> {
  const maximum = all ? Number.POSITIVE_INFINITY : limit;
  const rows: T[] = [];
  const pages: P[] = [];
  for await (const page of listing.pages()) {
    rows.push(...rowsOf(page));
    pages.push(page);
    if (rows.length >= maximum) {
      const hasMore = rows.length > maximum || page.nextCursor != null;
      return { rows: rows.slice(0, maximum), hasMore, pages };
    }
  }
  return { rows, hasMore: false, pages };
}

/** Tells people that a list has more rows. Programs read `hasMore` in the document. */
export async function noteMore({ isJson }: Session, hasMore: boolean, what: string): Promise<void> {
  if (hasMore && !isJson) await writeError(`there are more ${what}; --all lists all of them`);
}
