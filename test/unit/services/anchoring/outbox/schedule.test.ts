import { expect, test } from '@jest/globals';
import type { Outbox, Turn } from '../../../../../services/anchoring/outbox/outbox.ts';
import { Schedule } from '../../../../../services/anchoring/outbox/schedule.ts';
import { until } from '../../../../support/until.ts';
import { SILENT } from '../fixture.ts';

/** The part of an outbox that a schedule uses. */
const outbox = (collectionId: string, turn: () => Promise<Turn>) => ({ collectionId, turn }) as Outbox;

test('an outbox that fails for its own reason does not retry sooner when others succeed', async () => {
  const schedule = new Schedule({ log: SILENT, counts: { confirmed: 0, failures: 0 } }, () => undefined);
  let failed = 0;
  let succeeded = 0;
  const startMs = performance.now();
  schedule.wake(
    outbox('failing', () => {
      failed += 1;
      return Promise.reject(new Error('for a reason of its own'));
    }),
  );
  schedule.wake(
    outbox('sound', async () => {
      succeeded += 1;
      return { next: 'turn', afterMs: 1 };
    }),
  );
  await until('the sound one had many turns', () => succeeded >= 200);
  await schedule.stop();
  // The first attempt, the one after a success, and one after each pause of at least 250 ms.
  expect(failed).toBeLessThanOrEqual(2 + (performance.now() - startMs) / 250);
});
