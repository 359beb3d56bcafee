/**
 * Reserves quota under a plan's limits for a write.
 *
 * Nothing is written without a reservation for all of it, and the reservation is held until no more
 * can be committed. If the outcome never becomes known (the shard's node is gone, or the store did
 * not report it), the reservation is neither settled nor renewed. It then expires, after the time
 * in which a shard could still have written.
 */
import type { Logger } from 'pino';
import { type Caller, call } from '../../../contracts/actions/call.ts';
import { isProvecError } from '../../../lib/errors.ts';
import { INTERNAL_LIMITS } from '../../../lib/limits.ts';
import { StoreError } from '../../../store/port.ts';

interface QuotaUse {
  writes: number;
  /** Number of new records among them. */
  vectors: number;
}

/** Write whose quota is reserved. */
interface MeteredWrite {
  accountId: string;
  /** Maximum quota that the write can use. */
  most: QuotaUse;
  /** Minimum number of records that it writes. */
  writesMin: number;
  /** Computes the exact quota. Called only near a limit, while no other write runs. */
  count(): Promise<QuotaUse>;
}

/**
 * Runs `write` with its quota reserved until `write` settles, so `write` must not settle before its
 * outcome is known. `caller` must outlive the request. Throws PLAN_LIMIT_REACHED before anything is
 * written.
 */
export async function withQuota<T>(
  caller: Caller,
  log: Logger,
  { accountId, most, writesMin, count }: MeteredWrite,
  write: () => Promise<T>,
): Promise<T> {
  /** Renews or settles a reservation or a ticket for one. */
  const tell = (action: 'metering.renew' | 'metering.settle', id: string, failure: string): void => {
    call(caller, action, { accountId, id }).catch((error: unknown) => log.warn({ err: error }, failure));
  };
  const held = new Set<string>();
  const renewal = setInterval(() => {
    for (const id of held) tell('metering.renew', id, 'could not renew a write reservation');
  }, INTERNAL_LIMITS.writeHolderRenewMs).unref();
  let isOpen = false;
  try {
    let reserved = await call(caller, 'metering.reserveWrite', { accountId, writesMin, ...most });
    // Repeats if deletes made the count uncertain; metering limits the number of rounds.
    while (reserved.outcome === 'count') {
      const { ticket } = reserved;
      held.add(ticket);
      reserved = await call(caller, 'metering.reserveWrite', { accountId, ...(await count()), ticket });
    }
    if (reserved.id !== null) held.add(reserved.id);
    isOpen = true;
    const result = await write();
    isOpen = false;
    return result;
  } catch (error) {
    if (isRefusal(error)) isOpen = false;
    throw error;
  } finally {
    clearInterval(renewal);
    const unsettled = 'could not settle a write reservation; it will expire';
    if (!isOpen) for (const id of held) tell('metering.settle', id, unsettled);
  }
}

/** Returns true if a write's error proves that no part of it is, or will be, committed. */
export function isRefusal(error: unknown): boolean {
  return isProvecError(error) || (error instanceof StoreError && error.kind !== 'unknown');
}
