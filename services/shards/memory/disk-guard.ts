import type { Logger } from 'pino';
import { outOfCapacity } from '../../../lib/admission/out-of-capacity.ts';
import type { Store } from '../../../lib/store/port.ts';
import type { Clock } from '../../../lib/time/clock.ts';

const DISK_CHECK_MS = 1_000;
/** Share of a disk that the reserve should leave to records. */
const LEFT_MIN = 0.2;
const MIB = 2 ** 20;

/**
 * Refuses upserts with 507 before the disk runs out, while there is still room to delete. The guard
 * throws OUT_OF_CAPACITY when a write would eat into the reserve, the room on the disk that only
 * deletes may take. It measures the disk at most once a second.
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
 * Warns the operator if the reserve leaves little of the disk to records, or exceeds the free
 * space. Skips what the store does not report about its disk. Never throws.
 */
export async function warnOfReserve(
  reserveBytes: number,
  store: Pick<Store, 'freeBytes' | 'diskBytes'>,
  log: Pick<Logger, 'warn'>,
): Promise<void> {
  try {
    const [freeBytes, diskBytes] = [await store.freeBytes(), await store.diskBytes()];
    if (freeBytes === null || diskBytes === null) return;
    const isSmall = diskBytes - reserveBytes < LEFT_MIN * diskBytes;
    if (!isSmall && freeBytes >= reserveBytes) return;
    const inMib = (bytes: number) => Math.floor(bytes / MIB);
    const figures = { diskMib: inMib(diskBytes), freeMib: inMib(freeBytes), reserveMib: inMib(reserveBytes) };
    log.warn(figures, RESERVE_WARNING);
  } catch (error) {
    log.warn({ err: error }, 'could not measure the disk');
  }
}

const RESERVE_WARNING =
  'PROVEC_DISK_RESERVE_MB leaves little room for records on this disk; upserts and updates get 507 once only the reserve is free';
