import { ProvecError } from '../../../lib/errors.ts';
import type { Page } from '../../../lib/shard/match.ts';
import type { ShardQuery } from '../engine/query.ts';
import type { Shard } from '../engine/shard.ts';
import type { Phase, Steps } from '../engine/steps.ts';
import type { WorkerReply } from './protocol.ts';
import { Reading, type Readings } from './reading.ts';
import { faultOf } from './worker-fault.ts';

/** What a query reads. */
export interface Queried {
  readonly shard: Shard;
  /** Where answers that come in pages are kept. */
  readonly readings: Readings;
}

export interface QueryTerms {
  /** How long a query works before it is others' turn. */
  sliceMs: number;
  /**
   * How long it works at least when it arrives, however many there are on its shard: longer than
   * most queries take.
   */
  firstSliceMinMs: number;
  /**
   * Reading beyond this much of the thread's time is refused. Building columns is not counted:
   * queries to come have them too.
   */
  cpuMaxMs: number;
  /** No caller waits longer than this. */
  waitMaxMs: number;
  monotonicMs(): number;
}

const NOTHING: Page<unknown> = { items: [], rest: null };

/** One query on one shard, from its arrival to its reply, worked on in slices. */
export class QueryRun {
  /** Whether it had columns built, so that the shard has grown. */
  hasBuilt = false;
  /** What its last slice took. */
  lastSliceMs = 0;
  readonly #id: number;
  readonly #held: Queried;
  readonly #query: ShardQuery;
  readonly #pageMaxBytes: number;
  readonly #terms: QueryTerms;
  readonly #receivedMs: number;
  #steps: Steps<Page<unknown>>;
  #phase: Phase = 'building';
  #usedMs = 0;
  #readingMs = 0;

  constructor(id: number, held: Queried, query: ShardQuery, pageMaxBytes: number, terms: QueryTerms) {
    this.#id = id;
    this.#held = held;
    this.#query = query;
    this.#pageMaxBytes = pageMaxBytes;
    this.#terms = terms;
    this.#receivedMs = terms.monotonicMs();
    this.#steps = this.#answer();
  }

  /** Whether it has read what a change of the shard would make untrue. */
  get isReading(): boolean {
    return this.#phase === 'reading';
  }

  /** Works for one slice. The reply where that ended the query, else null. */
  slice(sliceMs: number): WorkerReply | null {
    const startedMs = this.#terms.monotonicMs();
    const { cpuMaxMs, waitMaxMs } = this.#terms;
    if (startedMs - this.#receivedMs > waitMaxMs) return this.refuse('The query was not answered in time.');
    try {
      for (let beforeMs = startedMs; ; ) {
        const { done, value } = this.#steps.next();
        const nowMs = this.#terms.monotonicMs();
        this.lastSliceMs = nowMs - startedMs;
        if (done) return { id: this.#id, result: value, tookMs: this.#usedMs + nowMs - startedMs };
        this.#phase = value;
        if (this.isReading) this.#readingMs += nowMs - beforeMs;
        else if (value === 'building') this.hasBuilt = true;
        beforeMs = nowMs;
        if (nowMs - startedMs < sliceMs) continue;
        this.#usedMs += nowMs - startedMs;
        return this.#readingMs > cpuMaxMs ? this.refuse(this.#tooExpensive()) : null;
      }
    } catch (error) {
      return { id: this.#id, fault: faultOf(error) };
    }
  }

  /** Begins anew, the shard having changed since the last slice. */
  restart(): void {
    this.#steps.return(NOTHING);
    this.#steps = this.#answer();
    this.#phase = 'building';
  }

  /** Ends the query with 503. */
  refuse(message: string): WorkerReply {
    this.#steps.return(NOTHING);
    return { id: this.#id, fault: faultOf(new ProvecError('UNAVAILABLE', message)) };
  }

  /** The first page of what is found. */
  *#answer(): Steps<Page<unknown>> {
    const { shard, readings } = this.#held;
    const reading = Reading.ofMatches(shard, yield* shard.rankSteps(this.#query), this.#query);
    let page: Page<unknown> | null = null;
    try {
      page = readings.keep(reading, yield* reading.page(this.#pageMaxBytes), this.#terms.monotonicMs());
      return page;
    } finally {
      if (page === null) reading.end();
    }
  }

  #tooExpensive(): string {
    const what = this.#query.filter === null ? 'the search' : 'the filter';
    const took = `more than ${this.#terms.cpuMaxMs} ms of processor time in one shard`;
    return `The query took ${took}: ${what} is too expensive for this many records.`;
  }
}
