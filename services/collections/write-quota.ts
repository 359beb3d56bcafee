/**
 * Room under a plan's limits for a write.
 *
 * Promise: nothing is written without room for all of it, and the room is held until no more of it
 * can be committed. How it fails: when the outcome never becomes known (the shard's node is gone,
 * the store did not say), it neither gives the room back nor renews it. The reservation runs out by
 * itself, after the time in which a shard could still have written it.
 */
import type { Logger } from 'pino';
import { type Caller, call } from '../../lib/actions/call.ts';
import { isProvecError } from '../../lib/errors.ts';
import { INTERNAL_LIMITS } from '../../lib/limits.ts';
import { StoreError } from '../../lib/store/port.ts';

/** What a write takes of the plan's limits. */
interface Room {
  /** Records that are written. */
  writes: number;
  /** Those of them that are new. */
  vectors: number;
}

/** A write as the plan's limits see it. */
interface MeteredWrite {
  accountId: string;
  /** What it takes at most. */
  most: Room;
  /** Records that it writes at least. */
  writesMin: number;
  /** Works out what it takes. Asked only near a limit; nobody else writes to the account then. */
  count(): Promise<Room>;
}

/**
 * Runs `write`, which must end when its outcome is known and not before, with room reserved for it.
 * `caller` outlives the request. Throws PLAN_LIMIT_REACHED, before anything is written.
 */
export async function withinQuota<T>(
  caller: Caller,
  log: Logger,
  { accountId, most, writesMin, count }: MeteredWrite,
  write: () => Promise<T>,
): Promise<T> {
  /** Of room, or a ticket for it. */
  const tell = (action: 'metering.renew' | 'metering.settle', id: string, failure: string): void => {
    call(caller, action, { accountId, id }).catch((error: unknown) => log.warn({ err: error }, failure));
  };
  const held = new Set<string>();
  const renewal = setInterval(() => {
    for (const id of held) tell('metering.renew', id, 'a write reservation could not be renewed');
  }, INTERNAL_LIMITS.writeHolderRenewMs).unref();
  let isOpen = false;
  try {
    let reserved = await call(caller, 'metering.reserveWrite', { accountId, writesMin, ...most });
    // Asked again where deletes made the count uncertain; metering bounds how long that goes on.
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
    const unsettled = 'a write reservation could not be settled; it expires by itself';
    if (!isOpen) for (const id of held) tell('metering.settle', id, unsettled);
  }
}

/** Whether an error of a shard's write says that nothing of it is, or will be, committed. */
export function isRefusal(error: unknown): boolean {
  return isProvecError(error) || (error instanceof StoreError && error.kind !== 'unknown');
}
