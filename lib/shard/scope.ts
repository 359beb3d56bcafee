import type { FilterNode } from '../filter/ast.ts';

/** The records of a shard that an operation applies to. */
export interface RecordScope {
  /** Absent or empty: the default namespace. Null: all namespaces. */
  namespace?: string | null;
  /** Null: all records of the namespaces. */
  filter: FilterNode | null;
  /** Fields to report if no record of the namespaces has them. */
  fields?: readonly string[];
}
