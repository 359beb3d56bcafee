import type { LeaseRow, LeaseUse } from '../../owners.ts';
import { decodeRow } from '../row-codec.ts';
import type { Database } from './database.ts';

/** A file of its own: a renewal never waits for what the log writes. */
export const LEASES_SCHEMA = `
  CREATE TABLE IF NOT EXISTS leases (incarnation TEXT PRIMARY KEY, beat INTEGER NOT NULL, row TEXT NOT NULL) STRICT;
`;

interface Row {
  beat: number;
  row: string;
}

/** The leases, synchronously; the beat stands beside the row as well, for conditions. */
export class LeaseTable {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  begin(lease: LeaseRow): void {
    this.#database.run(
      'INSERT INTO leases VALUES (?, ?, ?) ON CONFLICT DO NOTHING',
      lease.incarnation,
      lease.beat,
      JSON.stringify(lease),
    );
  }

  renew(incarnation: string, beat: number, draining: boolean, use?: LeaseUse): boolean {
    const [lease] = this.get([incarnation]);
    if (lease === undefined) return false;
    const next: LeaseRow = { ...lease, beat: Math.max(lease.beat, beat), draining, ...(use && { use }) };
    const sql = 'UPDATE leases SET beat = ?, row = ? WHERE incarnation = ?';
    this.#database.run(sql, next.beat, JSON.stringify(next), incarnation);
    return true;
  }

  list(): LeaseRow[] {
    return this.#database.all<Row>('SELECT beat, row FROM leases ORDER BY incarnation').map(leaseOf);
  }

  get(incarnations: readonly string[]): LeaseRow[] {
    const sql = 'SELECT beat, row FROM leases WHERE incarnation = ?';
    return incarnations.flatMap((incarnation) => this.#database.all<Row>(sql, incarnation).map(leaseOf));
  }

  end(incarnation: string, beat?: number): boolean {
    const sql = 'DELETE FROM leases WHERE incarnation = ? AND beat = ifnull(?, beat)';
    if (this.#database.run(sql, incarnation, beat ?? null) > 0) return true;
    return this.get([incarnation]).length === 0;
  }
}

function leaseOf({ row, beat }: Row): LeaseRow {
  return { ...decodeRow<LeaseRow>(row, 'A lease'), beat };
}
