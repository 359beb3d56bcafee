/**
 * Decides how much index building must follow each request of a shard.
 *
 * Every query scans the records not indexed yet. If index building only alternated with queries,
 * the index would hardly grow under load and queries would stay slow: 61,666 records of 384
 * dimensions, loaded at once and then queried over 8 connections, gave 61 queries/s for the whole
 * measurement. From 2,000 unindexed records on, building therefore follows every query and write:
 * at 8,192 records for as long as the request took, at more for up to three times as long.
 */
const BACKLOG_MIN_RECORDS = 2_000;
/** Number of unindexed records at which building takes as long as the requests. */
const BACKLOG_EVEN_RECORDS = 8_192;
const FACTOR_MAX = 3;
/** Other requests wait for a slice. */
const SLICE_MIN_MS = 8;
const SLICE_MAX_MS = 32;
const OWED_MAX_MS = 100;

export class IndexBackpressure {
  #owedMs = 0;

  /** Notes that a request took `tookMs` while `unindexed` records were waiting. */
  add(tookMs: number, unindexed: number): void {
    const factor = unindexed < BACKLOG_MIN_RECORDS ? 0 : Math.min(FACTOR_MAX, unindexed / BACKLOG_EVEN_RECORDS);
    this.#owedMs = factor === 0 ? 0 : Math.min(OWED_MAX_MS, this.#owedMs + tookMs * factor);
  }

  /** Whether a slice of building is due. */
  get isDue(): boolean {
    return this.#owedMs >= SLICE_MIN_MS;
  }

  /**
   * Returns the duration of the next slice of building in ms, at least `atLeastMs`, and deducts it
   * from what is due.
   */
  nextSliceMs(atLeastMs: number): number {
    const sliceMs = Math.max(atLeastMs, Math.min(SLICE_MAX_MS, this.#owedMs));
    this.#owedMs = Math.max(0, this.#owedMs - sliceMs);
    return sliceMs;
  }
}
