import { outOfCapacity } from '../../../lib/admission/out-of-capacity.ts';
import type { Store } from '../../../lib/store/port.ts';
import type { Clock } from '../../../lib/time/clock.ts';

const DISK_CHECK_MS = 1_000;

/**
 * Refuses upserts with 507 before the disk runs out, while there is still room to delete: throws
 * OUT_OF_CAPACITY when the write would eat into the reserve, the room on the disk that only deletes
 * may take; looks at the disk once a second.
 */
export function diskGuard(
  reserveBytes: number,
  store: Pick<Store, 'freeBytes'>,
  clock: Pick<Clock, 'monotonicMs'>,
): (incomingBytes: number) => Promise<void> {
  let checkedAtMs = Number.NEGATIVE_INFINITY;
  let measuring: Promise<void> | null = null;
  let leftBytes = Number.POSITIVE_INFINITY;
  const measure = async (): Promise<void> => {
    leftBytes = (await store.freeBytes()) ?? Number.POSITIVE_INFINITY;
    checkedAtMs = clock.monotonicMs();
  };
  return async (incomingBytes) => {
    if (clock.monotonicMs() - checkedAtMs >= DISK_CHECK_MS) {
      measuring ??= measure().finally(() => {
        measuring = null;
      });
      await measuring;
    }
    if (leftBytes - incomingBytes < reserveBytes) throw outOfCapacity('reserve');
    leftBytes -= incomingBytes;
  };
}
