/**
 * How long requests of a shard are to be followed by the building of its index.
 *
 * Each query scans what waits to be indexed. Were the index built in turn with them alone, it would
 * hardly grow under load and every query would go on being dear: 61,666 records of 384 dimensions
 * loaded at once and queried by 8 connections from then on gave 61 queries/s for as long as it was
 * looked at. So from 2,000 waiting records on every query and write is followed by building: for as
 * long as it took itself at 8,192, and for up to three times as long.
 */
const BACKLOG_MIN_RECORDS = 2_000;
/** So many are worth as much building as requests. */
const BACKLOG_EVEN_RECORDS = 8_192;
const FACTOR_MAX = 3;
/** Others wait for a slice. */
const SLICE_MIN_MS = 8;
const SLICE_MAX_MS = 32;
const OWED_MAX_MS = 100;

export class IndexDebt {
  #owedMs = 0;

  /** A request took so long while so many records waited. */
  note(tookMs: number, unindexed: number): void {
    const factor = unindexed < BACKLOG_MIN_RECORDS ? 0 : Math.min(FACTOR_MAX, unindexed / BACKLOG_EVEN_RECORDS);
    this.#owedMs = factor === 0 ? 0 : Math.min(OWED_MAX_MS, this.#owedMs + tookMs * factor);
  }

  /** Whether a slice is owed. */
  get isDue(): boolean {
    return this.#owedMs >= SLICE_MIN_MS;
  }

  /**
   * Milliseconds that a slice of building may take that is not to be shorter than `atLeastMs`; they
   * are owed no more.
   */
  take(atLeastMs: number): number {
    const sliceMs = Math.max(atLeastMs, Math.min(SLICE_MAX_MS, this.#owedMs));
    this.#owedMs = Math.max(0, this.#owedMs - sliceMs);
    return sliceMs;
  }
}
