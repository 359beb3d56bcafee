import type { FilterNode } from '../filter/ast.ts';

/** The records of a shard that an operation applies to. */
export interface RecordScope {
  /** Absent or empty: the default namespace. Null: all namespaces. */
  namespace?: string | null;
  /** Null: all records of the namespaces. */
  filter: FilterNode | null;
  /** Absent in messages from earlier versions, whose filter is still as the client sent it. */
  isParsed?: true;
  /** Fields to report if no record of the namespaces has them. */
  fields?: readonly string[];
}
