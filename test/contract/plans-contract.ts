import { beforeEach, describe, expect, test } from '@jest/globals';
import { DEFAULT_PLANS, planLimitsText } from '../../lib/plans.ts';
import type { PlanRow } from '../../store/plans.ts';
import type { Store } from '../../store/port.ts';
import type { StoreUnderTest } from './store-contract.ts';
import { newAccount } from './store-rows.ts';

const plan = (name: string, vectors: number): PlanRow => ({
  name,
  limits: planLimitsText({ ...DEFAULT_PLANS.pro, vectors }),
});

export function plansContract(subject: StoreUnderTest): void {
  describe('plans', () => {
    let store: Store;
    beforeEach(async () => {
      store = await subject.fresh();
    });

    test('a plan is created, changed, listed by name and removed', async () => {
      const { plans } = store;
      expect(await plans.list()).toEqual([]);
      expect(await plans.find('gold')).toBeNull();
      expect(await plans.remove('gold')).toBe(false);
      await plans.put(plan('silver', 1));
      await plans.put(plan('gold', 1));
      await plans.put(plan('gold', 2));
      expect(await plans.find('gold')).toEqual(plan('gold', 2));
      const { plans: reopened } = await subject.reopen();
      expect(await reopened.list()).toEqual([plan('gold', 2), plan('silver', 1)]);
      expect(await reopened.remove('gold')).toBe(true);
      expect(await reopened.remove('gold')).toBe(false);
      expect(await reopened.list()).toEqual([plan('silver', 1)]);
    });

    test('a plan is removed under a condition only while it has the given limits', async () => {
      const { plans } = store;
      await plans.put(plan('gold', 2));
      expect(await plans.remove('gold', plan('gold', 1).limits)).toBe(false);
      expect(await plans.find('gold')).toEqual(plan('gold', 2));
      expect(await plans.remove('gold', plan('gold', 2).limits)).toBe(true);
      expect(await plans.remove('gold', plan('gold', 2).limits)).toBe(false);
    });

    test('finds out whether an account has a plan', async () => {
      const { catalog } = store;
      const account = newAccount({ plan: 'gold' });
      await catalog.createAccount(account);
      expect(await catalog.hasAccountOfPlan('gold')).toBe(true);
      expect(await catalog.hasAccountOfPlan('silver')).toBe(false);
      await catalog.setPlan(account.id, 'silver');
      expect(await catalog.hasAccountOfPlan('gold')).toBe(false);
      await catalog.deleteAccount(account.id);
      expect(await catalog.hasAccountOfPlan('silver')).toBe(false);
    });

    test('a plan written or changed without the secret is refused, hides no other, and can be replaced and removed', async () => {
      await store.plans.put(plan('own', 1));
      await store.plans.put(plan('changed', 1));
      await subject.forge(async (forger) => {
        for (const name of ['changed', 'forged']) await forger.plans.put(plan(name, 1_000));
      });
      const { plans } = subject.store;
      for (const name of ['changed', 'forged'])
        await expect(plans.find(name)).rejects.toMatchObject({ name: 'StoreError', kind: 'damaged' });
      expect(await plans.list()).toEqual([plan('own', 1)]);
      await plans.put(plan('changed', 2));
      expect(await plans.find('changed')).toEqual(plan('changed', 2));
      expect(await plans.remove('forged')).toBe(true);
      expect(await plans.find('forged')).toBeNull();
    });
  });
}
