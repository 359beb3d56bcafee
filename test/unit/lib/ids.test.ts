import { expect, test } from '@jest/globals';
import type { AccountId, CollectionId } from '../../../lib/ids.ts';
import { type ShardKey, shardKey } from '../../../lib/shard/key.ts';

type Fits<Given, Wanted> = Given extends Wanted ? true : false;

// The types are the test: an assignment that does not hold is a type error.
const SWAPPED: Fits<AccountId, CollectionId> | Fits<CollectionId, AccountId> | Fits<ShardKey, CollectionId> = false;
const PLAIN: Fits<string, AccountId> & Fits<AccountId, string> = true;

test('ids of two kinds cannot be swapped, and a plain string fits each kind', () => {
  const collection: CollectionId = 'c';
  const key: Fits<ReturnType<typeof shardKey>, ShardKey> = true;
  expect([SWAPPED, PLAIN, key, shardKey(collection, 1)]).toEqual([false, true, true, 'c.1']);
});
