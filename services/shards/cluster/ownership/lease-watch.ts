/**
 * Judges the leases of other nodes by how long a beat has stood unchanged on this node's own
 * monotonic clock, as Kubernetes' leader election does, never by a time that somebody wrote.
 *
 * Promises: a lease is called dead only when its holder serves nothing under it any more, whichever
 * answers are left out or come in whatever order.
 * How it fails: where readings are rare a lease is called dead later, never earlier.
 * See docs/internals/ownership.md.
 */
import { LRUCache } from 'lru-cache';
import type { LeaseRow } from '../../../../lib/store/owners.ts';
import type { Clock } from '../../../../lib/time/clock.ts';
import { DEAD_AFTER_MS } from './lease-terms.ts';

/**
 * Leases that are kept in mind as over; one that is forgotten is read again when somebody names it.
 */
const OVER_MAX = 10_000;

interface Sighting {
  row: LeaseRow;
  /** When this beat was first seen, on the observer's clock. */
  sinceMs: number;
  /** When the newest reading began that saw it still unchanged. */
  seenMs: number;
  /** Its process was asked for on this machine and is no more. */
  gone: boolean;
}

/** One reading of leases. */
export interface LeaseReading {
  /** Which leases it asks for; null: all. */
  readonly asked: ReadonlySet<string> | null;
  readonly beganMs: number;
  /** In what order readings began and leases were heard of. */
  readonly order: number;
}

interface Heard {
  /** When the lease was first heard of. */
  order: number;
  /** The reading that `sighting` is from. */
  seenIn: number;
  /** Null until a reading has shown it. */
  sighting: Sighting | null;
}

export class LeaseWatch {
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  readonly #deadAfterMs: number;
  readonly #heard = new Map<string, Heard>();
  readonly #over: LRUCache<string, true>;
  /**
   * Leases that are over and that a reading shows all the same: their beginning came to the store
   * once more.
   */
  readonly #left = new Map<string, LeaseRow>();
  #order = 0;

  constructor(clock: Pick<Clock, 'monotonicMs'>, overMax = OVER_MAX, deadAfterMs = DEAD_AFTER_MS) {
    this.#clock = clock;
    this.#deadAfterMs = deadAfterMs;
    this.#over = new LRUCache({ max: overMax });
  }

  /** A reading begins; `asked`: only of these leases. */
  begin(asked: Iterable<string> | null = null): LeaseReading {
    const incarnations = asked === null ? null : new Set(asked);
    for (const incarnation of incarnations ?? []) this.hear(incarnation);
    return { asked: incarnations, beganMs: this.#clock.monotonicMs(), order: ++this.#order };
  }

  /** Takes in what a reading gave. */
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

  /** Somebody names this lease: whether it is there is to be found out. */
  hear(incarnation: string): void {
    if (this.#heard.has(incarnation) || this.#over.has(incarnation)) return;
    this.#heard.set(incarnation, { order: ++this.#order, seenIn: 0, sighting: null });
  }

  /** The lease is not in the store any more. */
  end(incarnation: string): void {
    this.#over.set(incarnation, true);
    this.#heard.delete(incarnation);
    this.#left.delete(incarnation);
  }

  /** Whether the lease is known not to be in the store any more. */
  isOver(incarnation: string): boolean {
    return this.#over.has(incarnation);
  }

  /** That process is known to be no more. */
  markGone(incarnation: string): void {
    const sighting = this.#heard.get(incarnation)?.sighting;
    if (sighting) sighting.gone = true;
  }

  /** Leases that are not dead, as they were last read. */
  live(): LeaseRow[] {
    return this.#sightings().flatMap((sighting) => (this.#isDead(sighting) ? [] : [sighting.row]));
  }

  /** Leases whose beat was seen to change, and how long ago that was, in milliseconds. */
  sightings(): { row: LeaseRow; ageMs: number }[] {
    const monotonicMs = this.#clock.monotonicMs();
    return this.#sightings().map(({ row, sinceMs }) => ({ row, ageMs: monotonicMs - sinceMs }));
  }

  /** Leases that are dead and may still be in the store. */
  dead(): { row: LeaseRow; gone: boolean }[] {
    const left = [...this.#left.values()].map((row) => ({ row, gone: true }));
    return [...left, ...this.#sightings().filter((sighting) => this.#isDead(sighting))];
  }

  #see(row: LeaseRow, { order, beganMs }: LeaseReading): void {
    this.hear(row.incarnation);
    const heard = this.#heard.get(row.incarnation)!;
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
   * By how long its beat is known to have stood. Not until the present: the holder may have renewed
   * since the leases were last read.
   */
  #isDead({ gone, seenMs, sinceMs }: Sighting): boolean {
    return gone || seenMs - sinceMs >= this.#deadAfterMs;
  }
}
