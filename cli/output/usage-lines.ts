import type { Api } from '../../client/index.ts';
import { tableLines } from './table.ts';

const COUNTS = ['write_count', 'query_count', 'vector_count', 'collection_count', 'key_count'] as const;

/** Returns a table of what an account uses, and the limits of its plan. */
export const usageLines = ({ usage, limits }: Api.Usage): string[] =>
  tableLines(
    ['', 'used', 'limit'],
    COUNTS.map((name) => [name, usage[name], limits[name] ?? 'none']),
  );
