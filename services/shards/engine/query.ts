import type { FilterNode } from '../../../lib/filter/ast.ts';
import type { QueryOptions } from '../../../lib/shard/match.ts';
import type { RecordScope } from '../../../lib/shard/scope.ts';

/** A scope whose filter is parsed. */
export interface ParsedScope extends Omit<RecordScope, 'filter'> {
  filter: FilterNode | null;
}

/** A query whose filter is parsed. */
export type ShardQuery = Omit<QueryOptions, 'filter'> & ParsedScope;
