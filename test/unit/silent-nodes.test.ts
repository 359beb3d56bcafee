import { expect, test } from '@jest/globals';
import { NodeSilent, SilentNodes } from '../../mixins/shard-router/silent-nodes.ts';
import { VirtualTime } from '../simulation/virtual-time.ts';

/** Nodes that answer questions, or not, and what they were asked. */
function nodes() {
  const time = new VirtualTime();
  const world = { answering: new Set<string>(), gone: new Set<string>(), asked: 0 };
  const silent = new SilentNodes({
    timers: time,
    async answers(node, maxMs) {
      world.asked++;
      if (world.answering.has(node)) return true;
      await time.delay(maxMs);
      return false;
    },
    isThere: (node) => !world.gone.has(node),
  });
  return { time, world, silent };
}

const outcomeOf = (promise: Promise<unknown>) =>
  promise.then(
    (value) => value,
    (error: unknown) => error,
  );

test('an answer in time is handed on, and nobody is asked', async () => {
  const { time, world, silent } = nodes();
  const heard = silent.unlessSilent(
    'a',
    time.delay(400).then(() => 'answer'),
  );
  await time.run(10_000);
  expect(await heard).toBe('answer');
  expect(world.asked).toBe(0);
});

test('a node that works for long and answers questions is waited for', async () => {
  const { time, world, silent } = nodes();
  world.answering.add('a');
  const heard = silent.unlessSilent(
    'a',
    time.delay(60_000).then(() => 'late'),
  );
  await time.run(60_001);
  expect(await heard).toBe('late');
  expect(world.asked).toBeGreaterThan(50);
  expect(silent.isSilent('a')).toBe(false);
});

test('a node that answers nothing is silent within a second, for all that wait for it, until it answers again', async () => {
  const { time, world, silent } = nodes();
  const never = new Promise(() => undefined);
  const waiting = [1, 2, 3].map(() => outcomeOf(silent.unlessSilent('a', never)));
  await time.run(1_000);
  for (const outcome of await Promise.all(waiting)) expect(outcome).toBeInstanceOf(NodeSilent);
  expect(world.asked).toBe(1);
  expect(silent.isSilent('a')).toBe(true);
  expect(silent.isSilent('b')).toBe(false);
  await time.run(20_000);
  expect(silent.isSilent('a')).toBe(true);
  // However many waited, one asks.
  expect(world.asked).toBeLessThan(25);
  world.answering.add('a');
  await time.run(22_000);
  expect(silent.isSilent('a')).toBe(false);
  const { asked } = world;
  await time.run(60_000);
  expect(world.asked).toBe(asked);
});

test('a node that is gone is not asked for ever', async () => {
  const { time, world, silent } = nodes();
  const waiting = outcomeOf(silent.unlessSilent('a', new Promise(() => undefined)));
  await time.run(1_000);
  expect(await waiting).toBeInstanceOf(NodeSilent);
  world.gone.add('a');
  await time.run(3_000);
  expect(silent.isSilent('a')).toBe(false);
  const { asked } = world;
  await time.run(60_000);
  expect(world.asked).toBe(asked);
});

test('once stopped it asks nobody', async () => {
  const { time, world, silent } = nodes();
  void outcomeOf(silent.unlessSilent('a', new Promise(() => undefined)));
  await time.run(1_000);
  silent.stop();
  const { asked } = world;
  await time.run(60_000);
  expect(world.asked).toBe(asked);
});
