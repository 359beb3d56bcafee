/** Which records of a shard an operation is about. */
export interface RecordScope {
  /** Absent or empty: the default one. */
  namespace?: string;
  /** Null: all records of the namespace. */
  filter: Record<string, unknown> | null;
  /** Fields of which a shard is to say whether no record of the namespace has them. */
  fields?: readonly string[];
}
