import type { LeaseRow, LeaseStore } from '../../owners.ts';
import { decodeRow } from '../row-codec.ts';
import type { Database, Sync } from './database.ts';

/** Leases have their own file, so that a renewal never waits for writes to the log. */
export const LEASES_SCHEMA = `
  CREATE TABLE IF NOT EXISTS leases (incarnation TEXT PRIMARY KEY, beat INTEGER NOT NULL, row TEXT NOT NULL) STRICT;
`;

interface Row {
  beat: number;
  row: string;
}

/** The leases. The beat is also a column, for conditions. */
export const leaseTable = (database: Database): Sync<LeaseStore> => ({
  begin(lease) {
    const sql = 'INSERT INTO leases VALUES (?, ?, ?) ON CONFLICT DO NOTHING';
    database.run(sql, lease.incarnation, lease.beat, JSON.stringify(lease));
  },

  renew(incarnation, beat, draining, use) {
    const [lease] = this.get([incarnation]);
    if (lease === undefined) return false;
    const next: LeaseRow = { ...lease, beat: Math.max(lease.beat, beat), draining, ...(use && { use }) };
    const sql = 'UPDATE leases SET beat = ?, row = ? WHERE incarnation = ?';
    database.run(sql, next.beat, JSON.stringify(next), incarnation);
    return true;
  },

  list() {
    return database.all<Row>('SELECT beat, row FROM leases ORDER BY incarnation').map(leaseOf);
  },

  get(incarnations) {
    const sql = 'SELECT beat, row FROM leases WHERE incarnation = ?';
    return incarnations.flatMap((incarnation) => database.all<Row>(sql, incarnation).map(leaseOf));
  },

  end(incarnation, beat) {
    const sql = 'DELETE FROM leases WHERE incarnation = ? AND beat = ifnull(?, beat)';
    return database.run(sql, incarnation, beat ?? null) > 0 || this.get([incarnation]).length === 0;
  },
});

function leaseOf({ row, beat }: Row): LeaseRow {
  return { ...decodeRow<LeaseRow>(row, 'A lease'), beat };
}
