import { ProvecError } from '../errors.ts';

const MESSAGES = {
  reserve: 'The service has no disk space left for upserts; reads and deletes still work.',
  disk: 'The disk of the service is full: it can write nothing, not even deletes; reads still work.',
  memory: 'The service has no memory left for more vectors; reads and deletes still work.',
};

/**
 * The OUT_OF_CAPACITY of a write for which there is no room: in memory, on the disk, or on what of
 * the disk is not kept for deletes.
 */
export function outOfCapacity(what: keyof typeof MESSAGES, cause?: unknown): ProvecError {
  return new ProvecError('OUT_OF_CAPACITY', MESSAGES[what], { cause });
}
