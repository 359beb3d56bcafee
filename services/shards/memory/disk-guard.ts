import type { Logger } from 'pino';
import { outOfCapacity } from '../../../lib/admission/out-of-capacity.ts';
import { inMib } from '../../../lib/mib.ts';
import type { Clock } from '../../../lib/time/clock.ts';
import type { Store } from '../../../store/port.ts';

const DISK_CHECK_MS = 1_000;
/** Share of a disk that should be free for records, beyond the reserve. */
const LEFT_MIN = 0.2;

/**
 * Refuses upserts with 507 before the disk runs out, while there is still room to delete. The guard
 * throws OUT_OF_CAPACITY when a write would use the reserve, the disk space that only deletes may
 * use. It measures the disk at most once a second.
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
    if (leftBytes - incomingBytes < reserveBytes)
      throw outOfCapacity({ of: 'reserve', writeBytes: incomingBytes, leftBytes, reserveBytes });
    leftBytes -= incomingBytes;
  };
}

/**
 * Warns the operator if little of the disk is free for records beyond the reserve. Skips what the
 * store does not report about its disk. Never throws.
 */
export async function warnOfReserve(
  reserveBytes: number,
  store: Pick<Store, 'freeBytes' | 'diskBytes'>,
  log: Pick<Logger, 'warn'>,
): Promise<void> {
  try {
    const [freeBytes, diskBytes] = [await store.freeBytes(), await store.diskBytes()];
    if (freeBytes === null || diskBytes === null) return;
    const leftBytes = freeBytes - reserveBytes;
    if (leftBytes >= LEFT_MIN * diskBytes) return;
    const figures = { diskMib: inMib(diskBytes), freeMib: inMib(freeBytes), reserveMib: inMib(reserveBytes) };
    log.warn({ ...figures, leftMib: inMib(leftBytes) }, RESERVE_WARNING);
  } catch (error) {
    log.warn({ err: error }, 'could not measure the disk');
  }
}

const RESERVE_WARNING =
  'less than 20 % of the disk is free for records beyond PROVEC_DISK_RESERVE_MB; upserts and updates get 507 once only the reserve is free';
