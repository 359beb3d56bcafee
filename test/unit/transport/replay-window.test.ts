import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { REPLAY_WINDOW, ReplayWindow } from '../../../transport/replay-window.ts';

/** The window's promise, implemented with a set. */
class Reference {
  #newest = 0;
  #seen = new Set<number>();

  startAfter(counter: number): void {
    if (counter <= this.#newest) return;
    for (let at = counter - REPLAY_WINDOW; at <= counter; at++) this.#seen.add(at);
    this.#newest = counter;
  }

  take(counter: number): boolean {
    if (counter <= 0 || counter <= this.#newest - REPLAY_WINDOW || this.#seen.has(counter)) return false;
    this.#seen.add(counter);
    this.#newest = Math.max(this.#newest, counter);
    return true;
  }
}

test('each counter is accepted once, in any order within the window, and none from before it', () => {
  const near = fc.integer({ min: -70, max: 70 });
  const step = fc.oneof(
    { weight: 8, arbitrary: near },
    fc.constantFrom(-REPLAY_WINDOW, 1 - REPLAY_WINDOW, REPLAY_WINDOW - 1, REPLAY_WINDOW, 3 * REPLAY_WINDOW),
  );
  fc.assert(
    fc.property(fc.array(fc.tuple(step, fc.boolean()), { maxLength: 200 }), (steps) => {
      const window = new ReplayWindow();
      const reference = new Reference();
      let at = 0;
      for (const [by, starts] of steps) {
        at = Math.max(0, at + by);
        if (starts && by > 0) {
          window.startAfter(BigInt(at));
          reference.startAfter(at);
        } else expect(window.take(BigInt(at))).toBe(reference.take(at));
      }
    }),
  );
});
