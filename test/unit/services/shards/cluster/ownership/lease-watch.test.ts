import { expect, test } from '@jest/globals';
import { DEAD_AFTER_MS } from '../../../../../../services/shards/cluster/ownership/lease-terms.ts';
import { LeaseWatch } from '../../../../../../services/shards/cluster/ownership/lease-watch.ts';
import type { LeaseRow } from '../../../../../../store/owners.ts';

function watchAt() {
  const clock = { nowMs: 1_000, monotonicMs: () => clock.nowMs };
  const watch = new LeaseWatch(clock);
  return { clock, watch };
}

function lease(incarnation: string, beat = 1): LeaseRow {
  return {
    node: `node of ${incarnation}`,
    incarnation,
    beat,
    process: { pid: 1, startedAt: null, place: 'there' },
    draining: false,
  };
}

const isDead = (watch: LeaseWatch, incarnation: string): boolean =>
  watch.isOver(incarnation) || watch.dead().some(({ row }) => row.incarnation === incarnation);

test('a beat unchanged for long enough is dead, however few reads there were', () => {
  const { clock, watch } = watchAt();
  watch.observe([lease('a')], watch.begin(['a']));
  clock.nowMs += DEAD_AFTER_MS - 1;
  watch.observe([lease('a')], watch.begin(['a']));
  expect(isDead(watch, 'a')).toBe(false);
  clock.nowMs += 1;
  expect(isDead(watch, 'a')).toBe(false);
  watch.observe([lease('a')], watch.begin());
  expect(isDead(watch, 'a')).toBe(true);
  expect(watch.dead()).toMatchObject([{ row: lease('a') }]);
  expect(watch.live()).toEqual([]);
});

test('time counts from the arrival of an answer to the start of the next read', () => {
  const { clock, watch } = watchAt();
  const slow = watch.begin(['a']);
  clock.nowMs += DEAD_AFTER_MS;
  watch.observe([lease('a')], slow);
  const second = watch.begin(['a']);
  clock.nowMs += DEAD_AFTER_MS;
  watch.observe([lease('a')], second);
  expect(isDead(watch, 'a')).toBe(false);
});

test('a read of some leases says nothing about the others', () => {
  const { watch } = watchAt();
  watch.observe([lease('a'), lease('b')], watch.begin());
  watch.observe([lease('a')], watch.begin(['a']));
  expect(isDead(watch, 'b')).toBe(false);
  expect(watch.live()).toHaveLength(2);
  watch.observe([], watch.begin(['b']));
  expect(watch.isOver('b')).toBe(true);
  watch.observe([], watch.begin());
  expect(watch.isOver('a')).toBe(true);
});

test('a lease that began after a read began is not over because the read lacks it', () => {
  const { watch } = watchAt();
  const early = watch.begin();
  watch.observe([lease('new')], watch.begin(['new']));
  watch.track('named');
  watch.observe([], early);
  expect(isDead(watch, 'new')).toBe(false);
  expect(isDead(watch, 'named')).toBe(false);
  watch.observe([], watch.begin());
  expect(isDead(watch, 'new')).toBe(true);
  expect(isDead(watch, 'named')).toBe(true);
});

test('an answer overtaken by a later read changes nothing', () => {
  const { clock, watch } = watchAt();
  watch.observe([lease('a', 1)], watch.begin());
  const early = watch.begin();
  clock.nowMs += 100;
  watch.observe([lease('a', 2)], watch.begin());
  watch.observe([lease('a', 1)], early);
  expect(watch.live()).toEqual([lease('a', 2)]);
  clock.nowMs += DEAD_AFTER_MS;
  watch.observe([lease('a', 2)], watch.begin());
  expect(isDead(watch, 'a')).toBe(true);
});

test('one that is over is not alive when a read shows it again, and is to be ended again', () => {
  const { watch } = watchAt();
  watch.observe([lease('a')], watch.begin());
  const late = watch.begin();
  watch.end('a');
  watch.observe([lease('a')], late);
  expect(watch.live()).toEqual([]);
  expect(watch.dead()).toMatchObject([{ row: lease('a'), gone: true }]);
  watch.end('a');
  expect(watch.dead()).toEqual([]);
});
