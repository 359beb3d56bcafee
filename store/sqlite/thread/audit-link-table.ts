import { type AuditLinkRow, LISTED_LINKS_MAX, type StoredAuditLinks } from '../../audit-links.ts';
import type { Sealed } from '../../sealed.ts';
import type { Database, Sync } from './database.ts';
import { hasTable } from './schema.ts';

/** Created with the first link: until then an older version can start on the file. */
export const AUDIT_LINKS_SCHEMA = `
  CREATE TABLE IF NOT EXISTS audit_links (
    id TEXT NOT NULL, accountId TEXT NOT NULL, collectionId TEXT NOT NULL, hash TEXT NOT NULL UNIQUE, label TEXT,
    createdAt TEXT NOT NULL, expiresAt TEXT, seal TEXT NOT NULL, PRIMARY KEY (collectionId, id)
  ) STRICT
`;
const COLUMNS = 'id, accountId, collectionId, hash, label, createdAt, expiresAt, seal';

export const hasAuditLinks = (database: Database): boolean => hasTable(database, 'audit_links');

export function auditLinkTable(database: Database): Sync<StoredAuditLinks> {
  const linksWhere = (condition: string, ...values: (string | number)[]): Sealed<AuditLinkRow>[] =>
    hasAuditLinks(database)
      ? database.allUntyped<Sealed<AuditLinkRow>>(`SELECT ${COLUMNS} FROM audit_links WHERE ${condition}`, ...values)
      : [];
  return {
    create({ id, accountId, collectionId, hash, label, createdAt, expiresAt, seal }, maxLinks) {
      database.run(AUDIT_LINKS_SCHEMA);
      const sql = 'SELECT count(*) AS count FROM audit_links WHERE collectionId = ?';
      if (database.getOne<{ count: number }>(sql, collectionId).count >= maxLinks) return 'limit';
      const values = [id, accountId, collectionId, hash, label, createdAt, expiresAt, seal];
      database.run(`INSERT INTO audit_links (${COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`, ...values);
      return 'created';
    },

    findByHash: (hash) => linksWhere('hash = ?', hash)[0] ?? null,

    list: (collectionId) => linksWhere('collectionId = ? LIMIT ?', collectionId, LISTED_LINKS_MAX),

    remove(collectionId, id) {
      if (!hasAuditLinks(database)) return false;
      return database.run('DELETE FROM audit_links WHERE collectionId = ? AND id = ?', collectionId, id) > 0;
    },

    removeAll(collectionId) {
      if (hasAuditLinks(database)) database.run('DELETE FROM audit_links WHERE collectionId = ?', collectionId);
    },
  };
}
