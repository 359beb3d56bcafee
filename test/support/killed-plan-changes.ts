/**
 * In the store in argv[2]: deletes plans while an account gets each of them, in every order of
 * their calls to the store, and stops each pair after another number of calls. Then kills itself.
 * Prints `<pair> <operation>` for each operation that was done before.
 */
import { writeSync } from 'node:fs';
import { DEFAULT_PLANS, planLimitsText } from '../../lib/plans.ts';
import { SYSTEM_CLOCK } from '../../lib/time/clock.ts';
import { readConfig } from '../../process/config.ts';
import { PlanBook } from '../../process/plan-book.ts';
import { Accounts } from '../../services/keys/accounts.ts';
import { ApiKeys } from '../../services/keys/api-keys.ts';
import { PlanCatalog } from '../../services/keys/plan-catalog.ts';
import type { Store } from '../../store/port.ts';
import { openSqliteStore } from '../../store/sqlite/store.ts';
import { newAccount } from '../contract/store-rows.ts';
import { TEST_KEYS } from './store-keys.ts';

/** At least the calls that each operation makes. */
const CALLS = { delete: 5, assign: 4, create: 3 };

/** A store whose calls wait until `step` lets the next one pass. */
class SteppedStore {
  readonly store: Pick<Store, 'plans' | 'catalog' | 'keys'>;
  #pass: (() => void) | null = null;
  #arrived = Promise.withResolvers<void>();
  #done = Promise.withResolvers<void>();

  constructor({ plans, catalog, keys }: Store) {
    this.store = { plans: this.#stepped(plans), catalog: this.#stepped(catalog), keys: this.#stepped(keys) };
  }

  /** Lets one call pass and waits for its end. Returns at once if the operation has ended. */
  async step(operation: Promise<unknown>): Promise<void> {
    await Promise.race([this.#arrived.promise, operation]);
    if (this.#pass === null) return;
    const done = this.#done.promise;
    this.#arrived = Promise.withResolvers();
    this.#pass();
    this.#pass = null;
    await done;
    // The operation makes its next call, or ends.
    await Promise.race([this.#arrived.promise, operation]);
  }

  #stepped<Part extends object>(part: Part): Part {
    return new Proxy(part, {
      get:
        (target, name) =>
        async (...args: unknown[]) => {
          const { promise, resolve } = Promise.withResolvers<void>();
          this.#pass = resolve;
          this.#done = Promise.withResolvers();
          this.#arrived.resolve();
          await promise;
          try {
            return await (Reflect.get(target, name) as (...given: unknown[]) => unknown).apply(target, args);
          } finally {
            this.#done.resolve();
          }
        },
    });
  }
}

/** Returns every order of at most so many calls of two operations. */
function ordersOf(first: number, second: number): string[] {
  const orders = [''];
  for (const order of orders) {
    const seconds = order.replaceAll('1', '').length;
    if (order.length - seconds < first) orders.push(`${order}1`);
    if (seconds < second) orders.push(`${order}2`);
  }
  return orders;
}

const store = await openSqliteStore(process.argv[2]!, { keys: TEST_KEYS });
const config = readConfig({});

function operationsOn(stepped: SteppedStore): { accounts: Accounts; plans: PlanCatalog } {
  const { keys, catalog } = stepped.store;
  const plans = new PlanCatalog(stepped.store, new PlanBook({ config, store: stepped.store, clock: SYSTEM_CLOCK }));
  return { plans, accounts: new Accounts(catalog, new ApiKeys(keys, SYSTEM_CLOCK), plans, SYSTEM_CLOCK) };
}

async function run(way: 'assign' | 'create', order: string): Promise<void> {
  const plan = `${way}-${order}`;
  const account = newAccount({ name: plan, plan: 'free' });
  await store.plans.put({ name: plan, limits: planLimitsText(DEFAULT_PLANS.pro) });
  if (way === 'assign') await store.catalog.createAccount(account);
  const [deleting, giving] = [new SteppedStore(store), new SteppedStore(store)];
  const noted = (name: string, operation: Promise<unknown>) =>
    operation.then(
      () => void writeSync(1, `${plan} ${name}\n`),
      () => undefined,
    );
  const { accounts } = operationsOn(giving);
  const deleted = noted('delete', operationsOn(deleting).plans.delete(plan));
  const given = noted(way, way === 'assign' ? accounts.setPlan(account.id, plan) : accounts.create(plan, plan));
  for (const call of order) await (call === '1' ? deleting.step(deleted) : giving.step(given));
}

for (const way of ['assign', 'create'] as const)
  for (const order of ordersOf(CALLS.delete, CALLS[way])) await run(way, order);
process.kill(process.pid, 'SIGKILL');
