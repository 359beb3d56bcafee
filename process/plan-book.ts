import type { PlanView } from '../contracts/actions/keys.ts';
import {
  type BuiltInPlan,
  DEFAULT_PLANS,
  isBuiltInPlan,
  type PlanLimits,
  type PlanName,
  planLimitsText,
  readStoredLimits,
} from '../lib/plans.ts';
import type { Clock } from '../lib/time/clock.ts';
import { ReadCache } from '../lib/time/read-cache.ts';
import { type Store, StoreError } from '../store/port.ts';
import type { Config } from './config.ts';

export interface KnownPlan {
  limits: Readonly<PlanLimits>;
  source: PlanView['source'];
  /** Whether no account can get the plan any more. */
  isDeleted: boolean;
}

interface PlanBookParts {
  config: Pick<Config, 'ledger' | 'plans'>;
  store: Pick<Store, 'plans'>;
  clock: Pick<Clock, 'monotonicMs'>;
}

const LATE = 'The service could not look up the limits of the plan in time; try again.';

/**
 * The plans as one process sees them. Stored limits take the place of those of the configuration.
 * A change is seen within half a second (see read-cache.ts), by this process at once.
 */
export class PlanBook {
  readonly #config: PlanBookParts['config'];
  readonly #store: PlanBookParts['store'];
  readonly #cache: ReadCache<KnownPlan>;

  constructor({ config, store, clock }: PlanBookParts) {
    this.#config = config;
    this.#store = store;
    this.#cache = new ReadCache(clock, LATE);
  }

  /**
   * Returns the limits of an account's plan. Throws UNAVAILABLE if the store is slow, and
   * StoreError 'damaged' if the plan's row is missing or is not the service's.
   */
  async limitsOf(name: PlanName): Promise<Readonly<PlanLimits>> {
    const known = await this.#cache.get(name, () => this.find(name));
    if (known === null) throw new StoreError('damaged', `The store has no plan ${name}, which an account is on.`);
    return known.limits;
  }

  /** Whether collections under a plan are anchored to the ledger. Throws as `limitsOf` does. */
  async isAnchored(name: PlanName): Promise<boolean> {
    return this.#config.ledger === 'on' && (await this.limitsOf(name)).anchoring;
  }

  /** Returns a plan as it is now, or null. A deleted one may keep its limits. Throws StoreError. */
  async find(name: PlanName): Promise<KnownPlan | null> {
    const row = await this.#store.plans.find(name);
    if (row !== null) return storedPlan(row);
    return isBuiltInPlan(name) ? this.configured(name) : null;
  }

  /** Returns a built-in plan as it is without the store. */
  configured(name: BuiltInPlan): KnownPlan {
    const limits = this.#config.plans[name];
    const isChanged = planLimitsText(limits) !== planLimitsText(DEFAULT_PLANS[name]);
    return { limits, source: isChanged ? 'environment' : 'built-in', isDeleted: false };
  }

  /** Drops what is cached. */
  forget(): void {
    this.#cache.forget(() => true);
  }
}

/** Throws StoreError 'damaged' for a plan that this version cannot read. */
export function storedPlan({ name, limits: text }: { name: PlanName; limits: string }): KnownPlan {
  const stored = readStoredLimits(text);
  if (stored === null)
    throw new StoreError('damaged', `The stored plan ${name} has limits that this version cannot read.`);
  return { ...stored, source: 'stored' };
}
