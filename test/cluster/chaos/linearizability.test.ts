import { describe, expect, test } from '@jest/globals';
import { randomFrom } from '../../support/random.ts';
import { seed } from '../../support/seed.ts';
import { firstUnexplained } from './linearizability.ts';
import type { Operation } from './operation.ts';

const write = (value: string, sent: number, answered: number | null): Operation => ({
  kind: 'write',
  value,
  sent,
  answered,
});
const update = (value: string, sent: number, answered: number | null): Operation => ({
  ...write(value, sent, answered),
  existed: true,
});
const remove = (sent: number, answered: number | null, existed?: boolean): Operation => ({
  kind: 'delete',
  value: null,
  existed,
  sent,
  answered,
});
const read = (value: string | null, sent: number, answered: number): Operation => ({
  kind: 'read',
  value,
  sent,
  answered,
});

const GOOD: Record<string, Operation[]> = {
  'nothing at all': [],
  'a read of nothing': [read(null, 1, 2)],
  'one after the other': [
    write('a', 1, 2),
    read('a', 3, 4),
    remove(5, 6, true),
    read(null, 7, 8),
    remove(9, 10, false),
  ],
  'a read during a write may give either': [write('a', 1, 2), write('b', 3, 8), read('b', 4, 5), read('b', 6, 7)],
  'two writes at once, in either order': [write('a', 1, 6), write('b', 2, 5), read('a', 7, 8)],
  'readers that overlap agree on an order': [
    write('a', 1, 20),
    write('b', 2, 19),
    read('b', 3, 10),
    read('a', 4, 9),
    read('a', 11, 12),
  ],
  'an unknown write that never was': [write('a', 1, 2), write('b', 3, null), read('a', 5, 6), read('a', 7, 8)],
  'an unknown write that took effect late': [
    write('a', 1, 2),
    write('b', 3, null),
    read('a', 5, 6),
    write('c', 7, 8),
    read('b', 9, 10),
  ],
  'an unknown delete that took effect': [write('a', 1, 2), remove(3, null), read('a', 4, 5), read(null, 6, 7)],
  'a delete that found what an unknown write wrote': [write('a', 1, null), remove(2, 3, true), read(null, 4, 5)],
  'an update of what an unknown write wrote': [write('a', 1, null), update('b', 2, 3), read('b', 4, 5)],
  'an unknown update of what was gone': [write('a', 1, 2), remove(3, 4, true), update('b', 5, null), read(null, 6, 7)],
  'an unknown write whose read was on its way before it': [read('a', 1, 9), write('a', 2, null), read('a', 10, 11)],
};

const BAD: Record<string, Operation[]> = {
  'a stale read': [write('a', 1, 2), write('b', 3, 4), read('a', 5, 6)],
  'a lost write': [write('a', 1, 2), read(null, 3, 4)],
  'a resurrected delete': [write('a', 1, 2), remove(3, 4, true), read(null, 5, 6), read('a', 7, 8)],
  'a value that nobody wrote': [write('a', 1, 2), read('b', 3, 4)],
  'a read of what was written later': [read('a', 1, 2), write('a', 3, 4)],
  'back and forth': [write('a', 1, 20), write('b', 2, 19), read('a', 3, 4), read('b', 5, 6), read('a', 7, 8)],
  'an unknown write that was there and gone': [write('a', 1, 2), write('b', 3, null), read('b', 4, 5), read('a', 6, 7)],
  'an unknown write that came twice': [
    write('a', 1, null),
    read('a', 2, 3),
    write('b', 4, 5),
    read('b', 6, 7),
    read('a', 8, 9),
  ],
  'a delete that did not find what was there': [write('a', 1, 2), remove(3, 4, false)],
  'a delete that found what was gone': [write('a', 1, 2), remove(3, 4, true), remove(5, 6, true)],
  'an update of what was gone': [write('a', 1, 2), remove(3, 4, true), update('b', 5, 6)],
  'an unknown update that brought back what was gone': [
    write('a', 1, 2),
    remove(3, 4, true),
    update('b', 5, null),
    read('b', 6, 7),
  ],
  'two readers that disagree': [write('a', 1, 2), write('b', 3, 20), read('b', 4, 5), read('a', 6, 7)],
};

describe('histories of one record', () => {
  test.each(Object.keys(GOOD))('%s is linearizable', (name) => {
    expect(firstUnexplained(GOOD[name]!)).toBeNull();
  });

  test.each(Object.keys(BAD))('%s is not linearizable', (name) => {
    expect(firstUnexplained(BAD[name]!)).not.toBeNull();
  });

  test('names the operation that does not fit', () => {
    expect(firstUnexplained(BAD['a stale read']!)).toEqual(read('a', 5, 6));
  });

  test(`a register's history is linearizable, and is not once one answer is changed (seed ${seed})`, () => {
    let caught = 0;
    for (let run = 0; run < 200; run++) {
      const random = randomFrom(seed * 1_000 + run);
      const history = answersOfRegister(random, 40);
      expect(firstUnexplained(history)).toBeNull();
      const reads = history.filter(({ kind, value }) => kind === 'read' && value !== null);
      if (reads.length === 0) continue;
      const changed = reads[Math.floor(random() * reads.length)]!;
      const broken = history.map((one) => (one === changed ? { ...one, value: 'never' } : one));
      expect(firstUnexplained(broken)).toEqual({ ...changed, value: 'never' });
      const older = history.filter(({ kind, answered }) => kind === 'write' && (answered ?? 1e9) < changed.sent);
      const overwritten = older.find(({ value, answered }) =>
        history.some(
          (one) =>
            one.kind === 'write' &&
            one.value !== value &&
            one.sent > answered! &&
            one.answered !== null &&
            one.answered < changed.sent,
        ),
      );
      if (!overwritten || overwritten.value === changed.value) continue;
      const stale = history.map((one) => (one === changed ? { ...one, value: overwritten.value } : one));
      expect(firstUnexplained(stale)).not.toBeNull();
      caught++;
    }
    expect(caught).toBeGreaterThan(20);
  });

  test(`agrees with a search through every order (seed ${seed})`, () => {
    const verdicts = { good: 0, bad: 0 };
    for (let run = 0; run < 1_500; run++) {
      const history = anyAnswers(randomFrom(seed * 10_000 + run), 7);
      const isGood = canBeOrdered(history, null, new Set());
      expect({ history, isGood: firstUnexplained(history) === null }).toEqual({ history, isGood });
      verdicts[isGood ? 'good' : 'bad']++;
    }
    expect(Math.min(verdicts.good, verdicts.bad)).toBeGreaterThan(100);
  });

  test(`copes with an outage that leaves most outcomes unknown (seed ${seed})`, () => {
    const begun = performance.now();
    for (let run = 0; run < 3; run++) {
      const history = answersOfRegister(randomFrom(seed * 1_000 + run), 1_000, { unknown: 0.7, longest: 1 });
      expect(firstUnexplained(history)).toBeNull();
    }
    expect(performance.now() - begun).toBeLessThan(20_000);
  });

  test('copes with hundreds of unknown outcomes', () => {
    const history: Operation[] = [];
    for (let at = 0; at < 400; at++) {
      history.push(write(`u${at}`, at * 10, null), write(`k${at}`, at * 10 + 1, at * 10 + 2));
      history.push(read(at % 3 === 0 ? `u${at}` : `k${at}`, at * 10 + 3, at * 10 + 4));
    }
    const begun = performance.now();
    expect(firstUnexplained(history)).toBeNull();
    expect(firstUnexplained([...history, read('k1', 5_000, 5_001)])).not.toBeNull();
    expect(performance.now() - begun).toBeLessThan(10_000);
  });
});

/**
 * Operations of several clients on a register, each applied at one instant between its start and
 * its response.
 */
function answersOfRegister(random: () => number, count: number, { unknown = 0.15, longest = 3 } = {}): Operation[] {
  interface Planned extends Operation {
    at: number;
  }
  const planned: Planned[] = Array.from({ length: count }, (_, number) => {
    const sent = random() * count;
    const at = sent + random() * longest;
    const isUnknown = random() < unknown;
    const kind = random() < 0.4 ? 'write' : random() < 0.3 ? 'delete' : 'read';
    const answered = isUnknown && kind !== 'read' ? null : at + random() * longest;
    const existed = kind === 'write' && random() < 0.3 ? true : undefined;
    return { kind, value: kind === 'write' ? `v${number}` : null, existed, sent, at, answered };
  });
  let value: string | null = null;
  for (const operation of planned.sort((a, b) => a.at - b.at)) {
    // Only some of the operations with an unknown outcome take effect.
    if (operation.answered === null && random() < 0.5) continue;
    if (operation.kind === 'read') operation.value = value;
    else if (operation.existed !== true || value !== null) {
      if (operation.kind === 'delete' && operation.answered !== null) operation.existed = value !== null;
      value = operation.value;
    } else if (operation.answered !== null) Object.assign(operation, { kind: 'read', value: null, existed: undefined });
  }
  return planned.map(({ at: _, ...operation }) => operation);
}

/** Operations with arbitrary responses, true or not. */
function anyAnswers(random: () => number, count: number): Operation[] {
  const values = Array.from({ length: count }, (_, number) => `v${number}`);
  return values.map((own): Operation => {
    const sent = random() * count;
    const answered = sent + random() * 4;
    const any = random() < 0.3 ? null : values[Math.floor(random() * count)]!;
    if (random() < 0.4) return read(any, sent, answered);
    const isUnknown = random() < 0.5;
    if (random() < 0.6) return (random() < 0.3 ? update : write)(own, sent, isUnknown ? null : answered);
    return isUnknown ? remove(sent, null) : remove(sent, answered, random() < 0.7 ? random() < 0.5 : undefined);
  });
}

/** Wing and Gong's algorithm: tries every order that the instants allow. */
function canBeOrdered(history: Operation[], value: string | null, done: ReadonlySet<Operation>): boolean {
  const left = history.filter((one) => !done.has(one));
  if (left.every(({ answered }) => answered === null)) return true;
  const firstAnswer = Math.min(...left.map(({ answered }) => answered ?? Number.POSITIVE_INFINITY));
  return left.some((one) => {
    if (one.sent > firstAnswer) return false;
    if (one.kind === 'read' && one.value !== value) return false;
    if (one.existed !== undefined && one.existed !== (value !== null)) return false;
    const after = one.kind === 'read' ? value : one.kind === 'write' ? one.value : null;
    return canBeOrdered(history, after, new Set([...done, one]));
  });
}
