import { expect, test } from '@jest/globals';
import { AwaitedShards } from '../../../../services/collections/awaited-shards.ts';
import { specOf } from '../../../support/shard-fixture.ts';

test('a cancelled request waits no longer, and the others still share one call', async () => {
  const shard = Promise.withResolvers<null>();
  let calls = 0;
  const awaited = new AwaitedShards({
    call: () => {
      calls++;
      return shard.promise;
    },
  });
  const gone = new AbortController();
  const cancelled = awaited.ready(specOf(1), 60_000, gone.signal);
  const other = awaited.ready(specOf(1), 50_000, new AbortController().signal);
  gone.abort(new Error('the client has left'));
  await expect(cancelled).rejects.toThrow('the client has left');
  shard.resolve(null);
  await other;
  expect(calls).toBe(1);
});
