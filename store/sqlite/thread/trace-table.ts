import type { Database } from './database.ts';
import { hasTable } from './schema.ts';

/** Tables of `log.db`, other than accounts and keys, in which any row is a trace of earlier use. */
export const LOG_TRACES = [
  'collections',
  'collection_tags',
  'aliases',
  'plans',
  'audit_links',
  'usage_months',
  'query_blocks',
  'query_batches',
  'stored_vectors',
  'collection_shares',
  'write_holds',
  'shards',
  'entries',
  'anchors',
  'anchor_history',
  'contradictions',
  'owners',
];
/** The same for `records.db`. */
export const RECORD_TRACES = ['shards', 'records'];

export interface TraceTable {
  /**
   * Returns whether the file holds, or ever held, anything except the account with the id `besides`
   * and its keys.
   */
  isUsed(besides: string): boolean;
}

/** Finds traces of earlier writes in a file. */
export const traceTable = (database: Database, tables: readonly string[]): TraceTable => ({
  isUsed(besides) {
    if (hasTable(database, 'accounts')) {
      if (database.get('SELECT 1 FROM accounts WHERE id <> ? LIMIT 1', besides) !== undefined) return true;
      if (database.get('SELECT 1 FROM keys WHERE accountId <> ? LIMIT 1', besides) !== undefined) return true;
      // This counter never decreases when collections are deleted.
      const counted = "SELECT 1 FROM sqlite_sequence WHERE name = 'collections' AND seq > 0";
      if (database.get(counted) !== undefined) return true;
    }
    return tables.some(
      (table) => hasTable(database, table) && database.get(`SELECT 1 FROM ${table} LIMIT 1`) !== undefined,
    );
  },
});
