/**
 * Thrown when an index could not be built. Searches scan the affected records until the index is
 * rebuilt after a pause.
 */
export class IndexFailure extends Error {
  override name = 'IndexFailure';
  readonly pauseMs: number;
  /** Whether an index was complete, or not needed, since the previous failure. */
  readonly isFirst: boolean;

  constructor(cause: unknown, pauseMs: number, isFirst: boolean) {
    super('An index could not be built.', { cause });
    this.pauseMs = pauseMs;
    this.isFirst = isFirst;
  }
}
