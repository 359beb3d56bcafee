import type { PlanView } from '../../contracts/actions/keys.ts';
import { notFound, ProvecError } from '../../lib/errors.ts';
import {
  deletedPlanText,
  isBuiltInPlan,
  PLAN_NAMES,
  type PlanLimits,
  type PlanName,
  planLimitsText,
  readStoredLimits,
  STORED_PLANS_MAX,
} from '../../lib/plans.ts';
import { type KnownPlan, type PlanBook, storedPlan } from '../../process/plan-book.ts';
import type { Catalog } from '../../store/catalog.ts';
import type { PlanRow, PlanStore } from '../../store/plans.ts';
import { StoreError } from '../../store/port.ts';

/**
 * The plans that accounts can have.
 *
 * Guarantees: of a concurrent deletion of a plan and an account that gets it, one is refused.
 * Deletion marks the row and then looks for accounts; an account gets the plan and then looks for
 * the mark (accounts.ts). So one of them sees the other, and undoes its own change. A process that
 * dies between its two steps can leave an account on a deleted plan. The marked row keeps the
 * plan's limits for that account. It stays in the store until the operator makes the plan again,
 * or until room is needed and no account has it.
 */
export class PlanCatalog {
  readonly #plans: PlanStore;
  readonly #accounts: Pick<Catalog, 'hasAccountOfPlan'>;
  readonly #book: PlanBook;

  constructor({ plans, catalog }: { plans: PlanStore; catalog: Pick<Catalog, 'hasAccountOfPlan'> }, book: PlanBook) {
    this.#plans = plans;
    this.#accounts = catalog;
    this.#book = book;
  }

  /** Returns every plan, built-in ones first, others by name. */
  async list(): Promise<PlanView[]> {
    const rows = (await this.#plans.list()).filter(isLive);
    const stored = new Map(rows.map((row) => [row.name, storedPlan(row)]));
    const builtIn = PLAN_NAMES.map((name) => viewOf(name, stored.get(name) ?? this.#book.configured(name)));
    const others = [...stored].filter(([name]) => !isBuiltInPlan(name));
    return [...builtIn, ...others.map(([name, known]) => viewOf(name, known))];
  }

  /** Returns the names of all plans. */
  async names(): Promise<PlanName[]> {
    const stored = (await this.#plans.list()).filter(isLive).map(({ name }) => name);
    return [...new Set<PlanName>([...PLAN_NAMES, ...stored])];
  }

  /** Returns whether there is such a plan now, with limits that the service wrote. */
  async exists(name: PlanName): Promise<boolean> {
    const known = await unlessDamaged(this.#book.find(name));
    return known !== null && !known.isDeleted;
  }

  /**
   * Creates a plan or replaces its limits, even those of a row that the service did not write.
   * Throws PLANS_LIMIT_REACHED; concurrent calls may exceed that limit.
   */
  async put(name: PlanName, limits: PlanLimits): Promise<PlanView> {
    const others = (await this.#plans.list()).filter((row) => row.name !== name);
    if (others.filter(isLive).length >= STORED_PLANS_MAX)
      throw new ProvecError('PLANS_LIMIT_REACHED', `The store has ${STORED_PLANS_MAX} plans, and takes no more.`);
    if (others.length >= STORED_PLANS_MAX) await this.#removeDeleted(others);
    await this.#plans.put({ name, limits: planLimitsText(limits) });
    return viewOf(name, { limits, source: 'stored' });
  }

  /** Throws PLAN_NOT_FOUND, and PLAN_IN_USE unless the plan is a built-in one. */
  async delete(name: PlanName): Promise<void> {
    const row = await unlessDamaged(this.#plans.find(name));
    const stored = row && readStoredLimits(row.limits);
    if (stored?.isDeleted) throw notFound('PLAN_NOT_FOUND');
    if (!isBuiltInPlan(name) && (await this.#accounts.hasAccountOfPlan(name))) throw inUse(name);
    if (row === null || stored === null || isBuiltInPlan(name)) {
      // No account gets a plan without limits, and a built-in one stays.
      if (!(await this.#plans.remove(name))) throw notFound('PLAN_NOT_FOUND');
      return;
    }
    await this.#plans.put({ name, limits: deletedPlanText(stored.limits) });
    if (!(await this.#accounts.hasAccountOfPlan(name))) return;
    await this.#plans.put(row);
    throw inUse(name);
  }

  /** Removes the rows of deleted plans that no account has. */
  async #removeDeleted(rows: readonly PlanRow[]): Promise<void> {
    for (const row of rows) {
      const isKept = isLive(row) || (await this.#accounts.hasAccountOfPlan(row.name));
      if (!isKept) await this.#plans.remove(row.name, row.limits);
    }
  }
}

/** Returns the value read; null if the service did not write it. */
async function unlessDamaged<T>(reading: Promise<T | null>): Promise<T | null> {
  try {
    return await reading;
  } catch (error) {
    if (error instanceof StoreError && error.kind === 'damaged') return null;
    throw error;
  }
}

const isLive = ({ limits }: PlanRow): boolean => readStoredLimits(limits)?.isDeleted !== true;

const viewOf = (name: PlanName, { limits, source }: Omit<KnownPlan, 'isDeleted'>): PlanView => ({
  name,
  ...limits,
  source,
});

const inUse = (name: PlanName): ProvecError =>
  new ProvecError('PLAN_IN_USE', `An account has the plan ${name}; change the plan of its accounts first.`);
