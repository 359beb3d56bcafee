/** Bounds of the pause between attempts, in milliseconds. */
export interface Backoff {
  readonly minMs: number;
  readonly maxMs: number;
}

/**
 * The pause before the next attempt when `failures` came before the last one in a row: twice as
 * long each time, never longer than `maxMs`.
 */
export function backoffMs(failures: number, { minMs, maxMs }: Backoff): number {
  return Math.min(minMs * 2 ** failures, maxMs);
}
