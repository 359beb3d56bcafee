import { expect, test } from '@jest/globals';
import { NodeUnresponsive, UnresponsiveNodes } from '../../../../mixins/shard-router/unresponsive-nodes.ts';
import { VirtualTime } from '../../../simulation/ownership/virtual-time.ts';

/** Nodes that respond to pings or not, and a count of the pings. */
function nodes() {
  const time = new VirtualTime();
  const world = { answering: new Set<string>(), gone: new Set<string>(), asked: 0 };
  const unresponsive = new UnresponsiveNodes({
    timers: time,
    async answers(node, maxMs) {
      world.asked++;
      if (world.answering.has(node)) return true;
      await time.delay(maxMs);
      return false;
    },
    isThere: (node) => !world.gone.has(node),
  });
  return { time, world, unresponsive };
}

const outcomeOf = (promise: Promise<unknown>) =>
  promise.then(
    (value) => value,
    (error: unknown) => error,
  );

test('a timely answer is passed on without questions', async () => {
  const { time, world, unresponsive } = nodes();
  const heard = unresponsive.answerFrom(
    'a',
    time.delay(400).then(() => 'answer'),
  );
  await time.run(10_000);
  expect(await heard).toBe('answer');
  expect(world.asked).toBe(0);
});

test('a node that works long and answers questions is waited for', async () => {
  const { time, world, unresponsive } = nodes();
  world.answering.add('a');
  const heard = unresponsive.answerFrom(
    'a',
    time.delay(60_000).then(() => 'late'),
  );
  await time.run(60_001);
  expect(await heard).toBe('late');
  expect(world.asked).toBeGreaterThan(50);
  expect(unresponsive.isUnresponsive('a')).toBe(false);
});

test('a silent node counts as unresponsive within 1.5 s, for all that wait for it, until it answers again', async () => {
  const { time, world, unresponsive } = nodes();
  const never = new Promise(() => undefined);
  const waiting = [1, 2, 3].map(() => outcomeOf(unresponsive.answerFrom('a', never)));
  await time.run(1_500);
  for (const outcome of await Promise.all(waiting)) expect(outcome).toBeInstanceOf(NodeUnresponsive);
  expect(world.asked).toBe(1);
  expect(unresponsive.isUnresponsive('a')).toBe(true);
  expect(unresponsive.isUnresponsive('b')).toBe(false);
  await time.run(20_000);
  expect(unresponsive.isUnresponsive('a')).toBe(true);
  // However many calls waited, only one ping was sent at a time.
  expect(world.asked).toBeLessThan(25);
  world.answering.add('a');
  await time.run(22_000);
  expect(unresponsive.isUnresponsive('a')).toBe(false);
  const { asked } = world;
  await time.run(60_000);
  expect(world.asked).toBe(asked);
});

test.each([
  ['a node that is gone is not asked for ever', 'gone'],
  ['asks no node once stopped', 'stopped'],
] as const)('%s', async (_, why) => {
  const { time, world, unresponsive } = nodes();
  const waiting = outcomeOf(unresponsive.answerFrom('a', new Promise(() => undefined)));
  await time.run(1_500);
  expect(await waiting).toBeInstanceOf(NodeUnresponsive);
  if (why === 'gone') world.gone.add('a');
  else unresponsive.stop();
  await time.run(4_000);
  expect(unresponsive.isUnresponsive('a')).toBe(false);
  const { asked } = world;
  await time.run(60_000);
  expect(world.asked).toBe(asked);
});
