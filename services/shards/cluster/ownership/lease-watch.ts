/**
 * Judges other nodes' leases by how long a beat stays unchanged on this node's monotonic clock, as
 * Kubernetes leader election does. It never trusts a timestamp written by another node.
 *
 * Guarantees: a lease is declared dead only when its holder no longer serves anything under it,
 * even if reads are lost or return out of order. On failure: infrequent reads delay the verdict;
 * they never make it early. See docs/internals/ownership.md.
 */

import { LRUCache } from 'lru-cache';
import { getOrThrow } from '../../../../lib/checked-access.ts';
import type { Clock } from '../../../../lib/time/clock.ts';
import type { LeaseRow } from '../../../../store/owners.ts';
import { DEAD_AFTER_MS } from './lease-terms.ts';

/**
 * Maximum number of ended leases to remember. A forgotten lease is read again when it is mentioned.
 */
const OVER_MAX = 10_000;

interface Sighting {
  row: LeaseRow;
  /** When this beat was first seen, on the observer's clock. */
  sinceMs: number;
  /** When the latest read that still showed this beat began. */
  seenMs: number;
  /** Whether its process ran on this machine and is known to have ended. */
  gone: boolean;
}

/** One read of leases from the store. */
export interface LeaseReading {
  /** The requested leases, or null for all. */
  readonly asked: ReadonlySet<string> | null;
  readonly beganMs: number;
  /** Position in the common sequence of reads, by start, and of leases, by first sight. */
  readonly order: number;
}

interface TrackedLease {
  /** Position of the lease's first sight in the sequence of `LeaseReading.order`. */
  order: number;
  /** Order of the read that `sighting` comes from. */
  seenIn: number;
  /** Null until a read has returned the lease. */
  sighting: Sighting | null;
}

export class LeaseWatch {
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  readonly #deadAfterMs: number;
  readonly #heard = new Map<string, TrackedLease>();
  readonly #over: LRUCache<string, true>;
  /**
   * Leases that are over but still appear in a read: their insert reached the store again, late.
   */
  readonly #left = new Map<string, LeaseRow>();
  #order = 0;

  constructor(clock: Pick<Clock, 'monotonicMs'>, overMax = OVER_MAX, deadAfterMs = DEAD_AFTER_MS) {
    this.#clock = clock;
    this.#deadAfterMs = deadAfterMs;
    this.#over = new LRUCache({ max: overMax });
  }

  /** Starts a read, of all leases or only of `asked`. */
  begin(asked: Iterable<string> | null = null): LeaseReading {
    const incarnations = asked === null ? null : new Set(asked);
    for (const incarnation of incarnations ?? []) this.track(incarnation);
    return { asked: incarnations, beganMs: this.#clock.monotonicMs(), order: ++this.#order };
  }

  /** Takes in the result of a read. */
  observe(rows: Iterable<LeaseRow>, reading: LeaseReading): void {
    const shown = new Set<string>();
    for (const row of rows) {
      shown.add(row.incarnation);
      if (this.#over.has(row.incarnation)) this.#left.set(row.incarnation, row);
      else this.#see(row, reading);
    }
    for (const incarnation of reading.asked ?? [...this.#heard.keys()]) {
      const heard = this.#heard.get(incarnation);
      if (heard && !shown.has(incarnation) && heard.order < reading.order) this.end(incarnation);
    }
  }

  /** Registers a lease that was mentioned, so that later reads decide whether it still exists. */
  track(incarnation: string): void {
    if (this.#heard.has(incarnation) || this.#over.has(incarnation)) return;
    this.#heard.set(incarnation, { order: ++this.#order, seenIn: 0, sighting: null });
  }

  /** Notes that the lease is gone from the store. */
  end(incarnation: string): void {
    this.#over.set(incarnation, true);
    this.#heard.delete(incarnation);
    this.#left.delete(incarnation);
  }

  /** Whether the lease is known to be gone from the store. */
  isOver(incarnation: string): boolean {
    return this.#over.has(incarnation);
  }

  /** Notes that the process behind the lease has ended. */
  markGone(incarnation: string): void {
    const sighting = this.#heard.get(incarnation)?.sighting;
    if (sighting) sighting.gone = true;
  }

  /** Leases that are not known to be dead, as last read from the store. */
  live(): LeaseRow[] {
    return this.#sightings().flatMap((sighting) => (this.#isDead(sighting) ? [] : [sighting.row]));
  }

  /** Leases as last read, each with the time in ms since this node first saw its current beat. */
  sightings(): { row: LeaseRow; ageMs: number }[] {
    const monotonicMs = this.#clock.monotonicMs();
    return this.#sightings().map(({ row, sinceMs }) => ({ row, ageMs: monotonicMs - sinceMs }));
  }

  /** Leases that are dead but may still be in the store. */
  dead(): { row: LeaseRow; gone: boolean }[] {
    const left = [...this.#left.values()].map((row) => ({ row, gone: true }));
    return [...left, ...this.#sightings().filter((sighting) => this.#isDead(sighting))];
  }

  #see(row: LeaseRow, { order, beganMs }: LeaseReading): void {
    this.track(row.incarnation);
    const heard = getOrThrow(this.#heard, row.incarnation);
    if (heard.seenIn > order) return;
    const before = heard.sighting;
    const sinceMs = before?.row.beat === row.beat ? before.sinceMs : this.#clock.monotonicMs();
    heard.sighting = { row, sinceMs, seenMs: beganMs, gone: before?.gone ?? false };
    heard.seenIn = order;
  }

  #sightings(): Sighting[] {
    return [...this.#heard.values()].flatMap(({ sighting }) => sighting ?? []);
  }

  /**
   * Measures up to the start of the last read, not up to now: the holder may have renewed since.
   */
  #isDead({ gone, seenMs, sinceMs }: Sighting): boolean {
    return gone || seenMs - sinceMs >= this.#deadAfterMs;
  }
}
