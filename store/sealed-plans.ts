/**
 * Plans under seals: a plan has limits that the service once gave it, or is refused. An attacker
 * who can write to the store can put back earlier limits or remove a plan, but cannot choose any.
 */
import type { MacPayload, Seals } from '../lib/secret/seals.ts';
import type { ForgedRows } from './forged-rows.ts';
import type { PlanRow, PlanStore, StoredPlans } from './plans.ts';
import type { Sealed } from './sealed.ts';

export function sealedPlans(stored: StoredPlans, seals: Seals, forged: ForgedRows): PlanStore {
  const isSealed = (row: Sealed<PlanRow>): boolean => seals.verifyHex(payloadOfPlan(row), row.seal);
  return {
    async find(name) {
      const row = await stored.find(name);
      if (row === null) return null;
      if (row.name !== name || !isSealed(row)) throw forged.refusal('plan', name);
      return rowOf(row);
    },
    async list() {
      const valid = (await stored.list()).filter((row) => {
        if (isSealed(row)) return true;
        forged.report('plan', row.name);
        return false;
      });
      return valid.map(rowOf);
    },
    put: (row) => stored.put({ ...row, seal: seals.sealHex(payloadOfPlan(row)) }),
    remove: (name, limits) => stored.remove(name, limits),
  };
}

const rowOf = ({ name, limits }: PlanRow): PlanRow => ({ name, limits });

/** Returns what the seal of a plan covers. */
export function payloadOfPlan({ name, limits }: PlanRow): MacPayload {
  return ['plan', name, limits];
}
