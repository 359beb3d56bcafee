import type { FilterNode } from '../../../lib/filter/ast.ts';
import type { QueryOptions } from '../../../lib/shard/match.ts';
import type { RecordScope } from '../../../lib/shard/scope.ts';

/** A scope as a shard takes it: its filter is parsed. */
export interface ParsedScope extends Omit<RecordScope, 'filter'> {
  filter: FilterNode | null;
}

/** A query as a shard takes it. */
export type ShardQuery = Omit<QueryOptions, 'filter'> & ParsedScope;
