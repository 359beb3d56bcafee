import type { AccountRow, StoredAccount, StoredCatalog } from '../../catalog.ts';
import { pageOf, positionOf } from '../../page.ts';
import type { Sealed } from '../../sealed.ts';
import type { AliasTable } from './alias-table.ts';
import type { Database, Sync } from './database.ts';
import type { KeyTable } from './key-table.ts';
import type { UsageTables } from './usage-tables.ts';

/** `place` is the creation order, which breaks ties of `createdAt`. */
export const ACCOUNTS_SCHEMA = `
  CREATE TABLE IF NOT EXISTS accounts (
    place INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, name TEXT NOT NULL, plan TEXT NOT NULL,
    createdAt TEXT NOT NULL, seal TEXT NOT NULL
  ) STRICT;
`;

const COLUMNS = 'id, name, plan, createdAt, seal';

export type AccountTable = Pick<
  Sync<StoredCatalog>,
  'createAccount' | 'getAccount' | 'accountsPage' | 'hasAccountOfPlan' | 'replaceAccount' | 'deleteAccount'
>;

/**
 * Accounts. Deletion removes an account together with its `aliases`, `keys` and `usage`, in one
 * commit.
 */
export const accountTable = (
  database: Database,
  collections: Pick<Sync<StoredCatalog>, 'countCollections'>,
  { aliases, keys, usage }: { aliases: AliasTable; keys: KeyTable; usage: UsageTables },
): AccountTable => ({
  createAccount({ id, name, plan, createdAt, seal }) {
    if (this.getAccount(id) !== null) throw new RangeError('the id of the account is already taken');
    database.run(`INSERT INTO accounts (${COLUMNS}) VALUES (?, ?, ?, ?, ?)`, id, name, plan, createdAt, seal);
  },

  getAccount(id) {
    const row = database.getUntyped<Sealed<AccountRow>>(`SELECT ${COLUMNS} FROM accounts WHERE id = ?`, id);
    return row === undefined ? null : accountOf(row);
  },

  accountsPage(after, limit) {
    const beyond = 'WHERE (createdAt, place) > (?, ifnull((SELECT place FROM accounts WHERE id = ?), 0))';
    const sql = `SELECT ${COLUMNS} FROM accounts ${after === null ? '' : beyond} ORDER BY createdAt, place LIMIT ?`;
    const position = after === null ? [] : [after.createdAt, after.id];
    const rows = database.allUntyped<Sealed<AccountRow>>(sql, ...position, limit + 1);
    return pageOf(rows.map(accountOf), limit, positionOf);
  },

  hasAccountOfPlan(plan) {
    return database.getUntyped('SELECT 1 FROM accounts WHERE plan = ? LIMIT 1', plan) !== undefined;
  },

  replaceAccount({ id, plan, seal }, before) {
    const sql = 'UPDATE accounts SET plan = ?, seal = ? WHERE id = ? AND seal = ?';
    return database.run(sql, plan, seal, id, before) > 0;
  },

  deleteAccount(id, seal) {
    if (this.getAccount(id)?.seal !== seal) return false;
    if (collections.countCollections(id) > 0) throw new RangeError('the account to delete still owns collections');
    aliases.forget(id);
    keys.forget(id);
    usage.forget(id);
    return database.run('DELETE FROM accounts WHERE id = ?', id) > 0;
  },
});

const accountOf = (row: Sealed<AccountRow>): StoredAccount => ({ ...row, state: 'live' });
