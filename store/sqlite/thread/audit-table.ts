import type { AuditRow, StoredAudit } from '../../audit.ts';
import type { Sealed } from '../../sealed.ts';
import type { Database, Sync } from './database.ts';
import { hasTable } from './schema.ts';

/** Created with the first entry. */
export const AUDIT_SCHEMA = `
  CREATE TABLE IF NOT EXISTS audit (
    trail TEXT NOT NULL, seq INTEGER NOT NULL, previous TEXT NOT NULL, entry TEXT NOT NULL, seal TEXT NOT NULL,
    PRIMARY KEY (trail, seq)
  ) STRICT
`;
const COLUMNS = 'trail, seq, previous, entry, seal';

export const hasAudit = (database: Database): boolean => hasTable(database, 'audit');

export function auditTable(database: Database): Sync<StoredAudit> {
  const rowsWhere = (condition: string, ...values: (string | number)[]): Sealed<AuditRow>[] =>
    hasAudit(database)
      ? database.allUntyped<Sealed<AuditRow>>(`SELECT ${COLUMNS} FROM audit WHERE ${condition}`, ...values)
      : [];
  return {
    append(rows) {
      database.run(AUDIT_SCHEMA);
      const sql = `INSERT INTO audit (${COLUMNS}) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`;
      const taken = rows.findIndex(
        ({ trail, seq, previous, entry, seal }) => database.run(sql, trail, seq, previous, entry, seal) === 0,
      );
      return taken < 0 ? rows.length : taken;
    },

    last: (trail) => rowsWhere('trail = ? ORDER BY seq DESC LIMIT 1', trail)[0] ?? null,

    page: (trail, from, limit) => rowsWhere('trail = ? AND seq >= ? ORDER BY seq LIMIT ?', trail, from, limit),

    trim(trail, before) {
      database.run('DELETE FROM audit WHERE trail = ? AND seq < ?', trail, before);
    },
  };
}
