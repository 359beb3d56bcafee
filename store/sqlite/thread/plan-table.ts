import type { PlanRow, StoredPlans } from '../../plans.ts';
import type { Sealed } from '../../sealed.ts';
import type { Database, Sync } from './database.ts';
import { hasTable } from './schema.ts';

/** Created with the first plan: until then an older version can start on the file. */
export const PLANS_SCHEMA = `
  CREATE TABLE IF NOT EXISTS plans (
    name TEXT NOT NULL UNIQUE, limits TEXT NOT NULL, seal TEXT NOT NULL
  ) STRICT
`;

export const hasPlans = (database: Database): boolean => hasTable(database, 'plans');

export function planTable(database: Database): Sync<StoredPlans> {
  const rows = (condition: string, ...values: string[]): Sealed<PlanRow>[] =>
    hasPlans(database)
      ? database.allUntyped<Sealed<PlanRow>>(`SELECT name, limits, seal FROM plans ${condition}`, ...values)
      : [];
  return {
    find: (name) => rows('WHERE name = ?', name)[0] ?? null,

    list: () => rows('ORDER BY name'),

    put({ name, limits, seal }) {
      database.run(PLANS_SCHEMA);
      const sql = 'INSERT INTO plans (name, limits, seal) VALUES (?, ?, ?)';
      const change = 'ON CONFLICT (name) DO UPDATE SET limits = excluded.limits, seal = excluded.seal';
      database.run(`${sql} ${change}`, name, limits, seal);
    },

    remove(name, limits) {
      if (!hasPlans(database)) return false;
      const removal = 'DELETE FROM plans WHERE name = ?';
      const removed =
        limits === undefined ? database.run(removal, name) : database.run(`${removal} AND limits = ?`, name, limits);
      return removed > 0;
    },
  };
}
