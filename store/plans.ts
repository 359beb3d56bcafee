import type { PlanName } from '../lib/plans.ts';
import type { Sealed } from './sealed.ts';

/** A plan that the operator made, changed or deleted. */
export interface PlanRow {
  name: PlanName;
  /** The limits as `planLimitsText` or `deletedPlanText` writes them. */
  limits: string;
}

/**
 * Plans of the operator. Built-in plans have a row only while the operator overrides them. Stored
 * rows that the service did not write are refused (StoreError 'damaged') when looked up and left
 * out of lists; they can be replaced and removed.
 */
export interface PlanStore {
  find(name: PlanName): Promise<PlanRow | null>;
  /** Returns all plans, by name. */
  list(): Promise<PlanRow[]>;
  /** Creates the plan or replaces its limits. */
  put(row: PlanRow): Promise<void>;
  /** Returns false if there is no such plan, or if it has other limits than given. */
  remove(name: PlanName, limits?: string): Promise<boolean>;
}

/** The plans as an adapter stores them: rows with seals that the adapter does not verify. */
export interface StoredPlans extends Pick<PlanStore, 'remove'> {
  find(name: PlanName): Promise<Sealed<PlanRow> | null>;
  list(): Promise<Sealed<PlanRow>[]>;
  put(row: Sealed<PlanRow>): Promise<void>;
}
