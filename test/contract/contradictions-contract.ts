import { describe, expect, test } from '@jest/globals';
import type { StoreUnderTest } from './store-contract.ts';
import { at, newCollection } from './store-rows.ts';

export function contradictionsContract(subject: StoreUnderTest): void {
  describe('contradictions', () => {
    const found = (seq: number, reason: string) => ({ seq, reason, at: at(seq) });

    test('the first one of each shard is kept, by shard index, until they are cleared', async () => {
      const { contradictions } = subject.store;
      const [mine, other] = [newCollection().id, newCollection().id];
      expect(await contradictions.list(mine)).toEqual([]);
      await contradictions.record(`${mine}.11`, found(4, 'eleventh'));
      await contradictions.record(`${mine}.2`, found(7, 'first of the second'));
      await contradictions.record(`${mine}.2`, found(9, 'another of the second'));
      await contradictions.record(`${other}.0`, found(1, 'of another collection'));
      const reopened = (await subject.reopen()).contradictions;
      expect(await reopened.list(mine)).toEqual([found(7, 'first of the second'), found(4, 'eleventh')]);
      await reopened.clear(mine);
      await reopened.clear(mine);
      expect(await reopened.list(mine)).toEqual([]);
      expect(await reopened.list(other)).toEqual([found(1, 'of another collection')]);
      await reopened.record(`${mine}.2`, found(9, 'another of the second'));
      expect(await reopened.list(mine)).toEqual([found(9, 'another of the second')]);
    });
  });
}
