/** Which records of a shard an operation is about. */
export interface RecordScope {
  /** Absent or empty: the default one; null: all of them. */
  namespace?: string | null;
  /** Null: all of their records. */
  filter: Record<string, unknown> | null;
  /** Fields of which a shard is to say whether no record of the namespaces has them. */
  fields?: readonly string[];
}
