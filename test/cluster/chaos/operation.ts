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
  /** Of a delete, where its answer says so: whether the record was there. */
  existed?: boolean;
  sent: number;
  /** Null: it is not known whether it was done, and it may still be. */
  answered: number | null;
}
