import { ProvecError } from '../errors.ts';
import { inMib, MIB } from '../mib.ts';

/** The resource that a write exhausts, and how many bytes of it are left. */
export type Shortage =
  /** The write would use disk space that is reserved for deletes. */
  | { of: 'reserve'; writeBytes: number; leftBytes: number; reserveBytes: number }
  | { of: 'disk' }
  | { of: 'memory'; leftBytes: number; limitBytes: number };

/** Builds the OUT_OF_CAPACITY error for a write that does not fit. */
export function outOfCapacity(shortage: Shortage, cause?: unknown): ProvecError {
  return new ProvecError('OUT_OF_CAPACITY', messageOf(shortage), { cause });
}

function messageOf(shortage: Shortage): string {
  switch (shortage.of) {
    case 'reserve':
      return `The service's disk has ${inMib(shortage.leftBytes)} MiB free, and PROVEC_DISK_RESERVE_MB keeps ${inMib(shortage.reserveBytes)} MiB of it for deletes: ${refusedByReserve(shortage)}; reads and deletes still work.`;
    case 'disk':
      return "The service's disk is full, including the space that PROVEC_DISK_RESERVE_MB reserves for deletes: all writes fail, even deletes; reads still work.";
    case 'memory':
      return `The service's memory for vectors has ${inMib(shortage.leftBytes)} MiB left of the ${inMib(shortage.limitBytes)} MiB of PROVEC_MEMORY_LIMIT_MB: this write does not fit; reads and deletes still work.`;
  }
}

/** Says whether the reserve blocks this write only or every upsert and update. */
function refusedByReserve({ writeBytes, leftBytes, reserveBytes }: Extract<Shortage, { of: 'reserve' }>): string {
  if (leftBytes <= reserveBytes) return 'the service takes no upserts and updates';
  return `this write of ${Math.ceil(writeBytes / MIB)} MiB does not fit, smaller ones may`;
}
