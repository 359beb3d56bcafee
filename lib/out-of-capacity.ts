import { ProvecError } from './errors.ts';

/** The OUT_OF_CAPACITY of a write for which there is no room on the disk or in memory. */
export function outOfCapacity(what: 'disk' | 'memory', cause?: unknown): ProvecError {
  const message =
    what === 'disk'
      ? 'The service has no disk space left for writes; reads and deletes still work.'
      : 'The service has no memory left for more vectors; reads and deletes still work.';
  return new ProvecError('OUT_OF_CAPACITY', message, { cause });
}
