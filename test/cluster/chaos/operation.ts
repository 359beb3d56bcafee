/**
 * One operation on one record, as its client saw it. Instants belong to one total order, such as
 * ticks of a counter.
 */
export interface Operation {
  kind: 'write' | 'delete' | 'read';
  /**
   * The value that a write wrote or a read returned; null when the record was absent. Every write
   * of a record has another value.
   */
  value: string | null;
  /**
   * Whether the record existed. For a delete, if its response tells. Always true for an update,
   * which only writes existing records.
   */
  existed?: boolean;
  sent: number;
  /** Null when the outcome is unknown; the operation may still be applied. */
  answered: number | null;
}
