import type { FilterNode } from '../../../lib/filter/ast.ts';
import type { QueryOptions } from '../../../lib/shard/match.ts';

/** A query as a shard takes it: its filter is parsed. */
export interface ShardQuery extends Omit<QueryOptions, 'filter'> {
  filter: FilterNode | null;
}
