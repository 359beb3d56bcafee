import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { AccountsPage, AccountView, KeyView } from '../../contracts/actions/keys.ts';
import { positionCursor, positionOfCursor } from '../../contracts/requests/page-cursor.ts';
import { notFound, unavailable } from '../../lib/errors.ts';
import type { AccountId } from '../../lib/ids.ts';
import type { PlanName } from '../../lib/plans.ts';
import type { Clock } from '../../lib/time/clock.ts';
import { ReadCache } from '../../lib/time/read-cache.ts';
import type { AccountRow, Catalog } from '../../store/catalog.ts';
import { SCOPES } from '../../store/keys.ts';
import type { ApiKeys, NewKey } from './api-keys.ts';
import { LATE } from './authenticator.ts';
import type { PlanCatalog } from './plan-catalog.ts';

/** The key that a new account gets. */
export const FIRST_KEY: NewKey = { name: 'first key', scopes: [...SCOPES], expiresAt: null };

/** Requests under way can create collections while an account's are being dropped. */
const DROP_ROUNDS_MAX = 5;

/** Accounts and their plans. */
export class Accounts {
  readonly #catalog: Catalog;
  readonly #keys: ApiKeys;
  readonly #plans: Pick<PlanCatalog, 'exists'>;
  readonly #clock: Clock;
  readonly #cache: ReadCache<AccountRow>;

  constructor(catalog: Catalog, keys: ApiKeys, plans: Pick<PlanCatalog, 'exists'>, clock: Clock) {
    this.#catalog = catalog;
    this.#keys = keys;
    this.#plans = plans;
    this.#clock = clock;
    this.#cache = new ReadCache(clock, LATE);
  }

  /**
   * Creates an account and its first key, which has every scope. Throws PLAN_NOT_FOUND if the plan
   * is deleted meanwhile.
   */
  async create(name: string, plan: PlanName): Promise<{ account: AccountView; key: KeyView }> {
    const row = newAccount(randomUUID(), name, plan, this.#clock);
    await this.#catalog.createAccount(row);
    if (!(await this.#plans.exists(plan))) {
      await this.#catalog.deleteAccount(row.id);
      throw notFound('PLAN_NOT_FOUND');
    }
    const key = await this.#keys.create(row.id, FIRST_KEY, null);
    assert(key !== null);
    return { account: viewOf(row), key };
  }

  /** Returns one page of accounts. Throws INVALID_ARGUMENT for a bad cursor. */
  async page(limit: number, cursor?: string): Promise<AccountsPage> {
    const { rows, next } = await this.#catalog.accountsPage(positionOfCursor(cursor), limit);
    return { accounts: rows.map(viewOf), ...positionCursor(next) };
  }

  /** Throws ACCOUNT_NOT_FOUND. */
  async get(id: AccountId): Promise<AccountView> {
    const row = await this.#catalog.getAccount(id);
    if (row === null) throw notFound('ACCOUNT_NOT_FOUND');
    return viewOf(row);
  }

  /** Returns the account's plan, cached. Throws ACCOUNT_NOT_FOUND. */
  async plan(id: AccountId): Promise<PlanName> {
    const row = await this.#cache.get(id, () => this.#catalog.getAccount(id));
    if (row === null) throw notFound('ACCOUNT_NOT_FOUND');
    return row.plan;
  }

  /** Throws ACCOUNT_NOT_FOUND, and PLAN_NOT_FOUND if the plan is deleted meanwhile. */
  async setPlan(id: AccountId, plan: PlanName): Promise<AccountView> {
    const before = await this.get(id);
    const row = await this.#catalog.setPlan(id, plan);
    if (row === null) throw notFound('ACCOUNT_NOT_FOUND');
    if (await this.#plans.exists(plan)) return viewOf(row);
    await this.#catalog.setPlan(id, before.plan);
    throw notFound('PLAN_NOT_FOUND');
  }

  /**
   * Removes the account's row, keys and usage, after `dropCollections`. Throws ACCOUNT_NOT_FOUND,
   * and UNAVAILABLE if requests keep creating collections.
   */
  async delete(id: AccountId, dropCollections: () => Promise<unknown>): Promise<void> {
    if ((await this.#catalog.getAccount(id)) === null) throw notFound('ACCOUNT_NOT_FOUND');
    for (let round = 0; round < DROP_ROUNDS_MAX; round++) {
      await dropCollections();
      if ((await this.#catalog.countCollections(id)) > 0) continue;
      if (await this.#deleteEmpty(id)) return;
    }
    throw unavailable('The account keeps creating collections; revoke its keys and try again.');
  }

  /** Returns false if the account has a collection again. */
  async #deleteEmpty(id: AccountId): Promise<boolean> {
    try {
      await this.#catalog.deleteAccount(id);
      return true;
    } catch (error) {
      if ((await this.#catalog.countCollections(id)) > 0) return false;
      throw error;
    }
  }

  /** Forgets the plan of an account. */
  forget(id: AccountId): void {
    this.#cache.forget((row) => row.id === id);
  }
}

export function newAccount(id: AccountId, name: string, plan: PlanName, clock: Pick<Clock, 'wallMs'>): AccountRow {
  return { id, name, plan, createdAt: new Date(clock.wallMs()).toISOString() };
}

function viewOf(row: AccountRow): AccountView {
  return { id: row.id, name: row.name, plan: row.plan, created_at: row.createdAt };
}
