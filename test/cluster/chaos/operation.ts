/**
 * One operation on one record, as its client saw it. Instants are of one total order, such as ticks
 * of a counter.
 */
export interface Operation {
  kind: 'write' | 'delete' | 'read';
  /**
   * What a write wrote, or a read gave; null: the record was not there. Every write of a record
   * writes another value.
   */
  value: string | null;
  /**
   * Whether the record was there: of a delete, where its answer says so; of an update, which writes
   * only where it was, always true.
   */
  existed?: boolean;
  sent: number;
  /** Null: it is not known whether it was done, and it may still be. */
  answered: number | null;
}
