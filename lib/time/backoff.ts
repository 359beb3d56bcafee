/** Bounds of the pause between attempts, in milliseconds. */
export interface Backoff {
  readonly minMs: number;
  readonly maxMs: number;
}

/** Returns the pause after `failures` + 1 failures in a row. It doubles up to `maxMs`. */
export function backoffMs(failures: number, { minMs, maxMs }: Backoff): number {
  return Math.min(minMs * 2 ** failures, maxMs);
}
