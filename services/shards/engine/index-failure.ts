/**
 * Building an index failed. Searches scan what it would have held, and it is built anew after a
 * pause.
 */
export class IndexFailure extends Error {
  override name = 'IndexFailure';
  readonly pauseMs: number;
  /** Whether an index was whole, or none wanted, since the failure before. */
  readonly isFirst: boolean;

  constructor(cause: unknown, pauseMs: number, isFirst: boolean) {
    super('An index could not be built.', { cause });
    this.pauseMs = pauseMs;
    this.isFirst = isFirst;
  }
}
