import { afterEach, beforeEach, expect, test } from '@jest/globals';
import pino from 'pino';
import { SYSTEM_CLOCK } from '../../lib/runtime.ts';
import { shardKey } from '../../lib/shard/shard-key.ts';
import { ShardMoved } from '../../lib/shard/shard-moved.ts';
import { Materialiser } from '../../services/shards/persistence/materialiser.ts';
import { openShard } from '../../services/shards/residency/shard-opening.ts';
import { InlineWorker } from '../simulation/inline-worker.ts';
import { batchOf, type ShardFixture, shardFixture, specOf } from '../support/shard-fixture.ts';

const LOG = pino({ level: 'silent' });
const SPEC = specOf(1);
const KEY = shardKey(SPEC.collectionId, SPEC.index);

let fixture: ShardFixture;

beforeEach(async () => {
  fixture = await shardFixture();
});

afterEach(() => fixture.end());

function open(recorded: Parameters<typeof openShard>[1]) {
  const worker = new InlineWorker(
    (run) => run(),
    (_op, result) => result,
  );
  return openShard(SPEC, recorded, worker, fixture.store, SYSTEM_CLOCK, LOG);
}

test('an opening that others have overtaken accuses nobody', async () => {
  const { head } = await fixture.node.upsert(SPEC, batchOf(['a', 'b'], 1));
  const { head: newest } = await fixture.node.upsert(SPEC, batchOf(['a', 'c'], 2));
  await new Materialiser(fixture.store, LOG).catchUp(KEY);
  await expect(open(head)).rejects.toThrow(ShardMoved);
  expect(await fixture.store.contradictions.list(SPEC.collectionId)).toEqual([]);
  expect((await open(newest)).contradiction).toBeNull();
});

test('records that are ahead of a log which nobody has written to are a contradiction', async () => {
  const { head } = await fixture.node.upsert(SPEC, batchOf(['a', 'b'], 1));
  await new Materialiser(fixture.store, LOG).catchUp(KEY);
  const changes = [{ id: 'a', record: null }];
  await fixture.store.records.apply(KEY, head.seq, head.seq + 1, changes);
  expect((await open(head)).contradiction).toContain('but its head says');
  expect(await fixture.store.contradictions.list(SPEC.collectionId)).toHaveLength(1);
});
