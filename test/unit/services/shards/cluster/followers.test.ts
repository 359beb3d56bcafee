import { expect, test } from '@jest/globals';
import type { ReplicaState } from '../../../../../contracts/actions/shards.ts';
import { Placement } from '../../../../../lib/placement/placement.ts';
import { Followers } from '../../../../../services/shards/cluster/followers.ts';
import type { ShardActor } from '../../../../../services/shards/shard/actor.ts';
import { VirtualTime } from '../../../../simulation/ownership/virtual-time.ts';

const KEY = 'c0000000-0000-4000-8000-000000000001.0';

test("a follower's progress becomes known even if its holder announces the next commit before it has answered", async () => {
  const time = new VirtualTime();
  const actor = { key: KEY, spec: { replicas: 1 }, head: { seq: 0 } };
  const followers = new Followers({
    peers: {
      node: 'a',
      isReachable: () => true,
      async follow(_node, _shard, seq): Promise<ReplicaState> {
        await time.delay(60);
        return { seq };
      },
    },
    placement: () => new Placement(['a', 'b'].map((node) => ({ node, weight: 1 }))),
    open: () => [],
    timers: time,
  });
  for (let commit = 1; commit <= 20; commit++) {
    actor.head.seq = commit;
    followers.committed(actor as unknown as ShardActor);
    await time.run(time.nowMs + 30);
  }
  const [follower] = followers.of(KEY);
  expect(follower).toMatchObject({ node: 'b' });
  expect(follower!.seq).toBeGreaterThanOrEqual(16);
  followers.stop();
});
