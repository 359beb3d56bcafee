/**
 * Background verifications of this instance. One is `running` until it is `done`, with the result
 * of a verify, or `failed`, with its error.
 *
 * At most one runs per collection. A request for another one meanwhile gets the running one, whose
 * result names its version. An account may use at most two thirds of the places. Throws UNAVAILABLE
 * if all places are taken. All verifications end with the process.
 */

import type { Logger } from 'pino';
import type { Verification, VerificationOverview } from '../../contracts/actions/verification.ts';
import { toFailure } from '../../contracts/failure.ts';
import { FairShares } from '../../lib/admission/fair-share.ts';
import { unavailable } from '../../lib/errors.ts';
import type { CollectionId } from '../../lib/ids.ts';
import { INTERNAL_LIMITS } from '../../lib/limits.ts';
import type { Clock } from '../../lib/time/clock.ts';
import type { Runtime } from '../../process/runtime.ts';
import type { CollectionRow } from '../../store/catalog.ts';
import { EndedVerifications, overviewOf } from './ended-verifications.ts';
import type { Verifier, VerifierRun } from './verifier.ts';

const SHARE_FACTOR = 2;
/** Maximum number of ended verifications in a list. */
const LISTED_ENDED_MAX = 1_000;

interface Running {
  id: string;
  collection: CollectionRow;
  total: number;
  startedAt: string;
  run: VerifierRun;
}

export class Verifications {
  readonly #verifier: Pick<Verifier, 'begin'>;
  readonly #clock: Pick<Clock, 'wallMs'>;
  readonly #log: Logger;
  /** By collection. */
  readonly #running = new Map<string, Running>();
  readonly #places = new FairShares(SHARE_FACTOR, INTERNAL_LIMITS.verificationsMax);
  readonly #ended: EndedVerifications;
  #isStopped = false;

  constructor(verifier: Pick<Verifier, 'begin'>, { clock, log }: Pick<Runtime, 'clock' | 'log'>) {
    this.#verifier = verifier;
    this.#clock = clock;
    this.#log = log;
    this.#ended = new EndedVerifications(clock);
  }

  /** Starts a verification unless one is running. `total` is the collection's number of records. */
  begin(collection: CollectionRow, total: number, id: string): Verification {
    const running = this.#running.get(collection.id);
    if (running) return viewOf(running);
    const { accountId } = collection;
    if (!this.#places.fits(accountId, 1)) throw unavailable('Too many verifications are under way; try again later.');
    this.#places.add(accountId, 1);
    const begun = { id, collection, total, startedAt: this.#now(), run: this.#verifier.begin(collection) };
    this.#running.set(collection.id, begun);
    void this.#end(begun);
    return viewOf(begun);
  }

  running(collectionId: CollectionId): Verification | null {
    const running = this.#running.get(collectionId);
    return running ? viewOf(running) : null;
  }

  find(collectionId: CollectionId, id: string): Verification | null {
    const running = this.running(collectionId);
    return running?.id === id ? running : this.#ended.get(collectionId, id);
  }

  /** Returns all that run, and the newest that ended. */
  list(): VerificationOverview[] {
    const running = [...this.#running.values()].map((each) =>
      overviewOf(each.collection, viewOf(each), { startedAt: each.startedAt, endedAt: null }),
    );
    return [...running, ...this.#ended.newest(LISTED_ENDED_MAX)];
  }

  /** Failures after this are caused by the stop, so they are not logged. */
  stop(): void {
    this.#isStopped = true;
  }

  #now(): string {
    return new Date(this.#clock.wallMs()).toISOString();
  }

  async #end(running: Running): Promise<void> {
    const { collection } = running;
    const verification = await this.#outcomeOf(running);
    this.#running.delete(collection.id);
    this.#places.add(collection.accountId, -1);
    this.#ended.add(collection, verification, { startedAt: running.startedAt, endedAt: this.#now() });
  }

  async #outcomeOf(running: Running): Promise<Verification> {
    const { id, collection, total, run } = running;
    try {
      const result = await run.result;
      return { id, state: 'done', progress: { scanned: total, total }, result };
    } catch (thrown) {
      const { error, isFault } = toFailure(thrown);
      if (isFault && !this.#isStopped)
        this.#log.error({ err: thrown, collectionId: collection.id }, 'a verification failed');
      const { code, message } = error;
      return { ...viewOf(running), state: 'failed', error: { code, message } };
    }
  }
}

function viewOf({ id, total, run }: Running): Verification {
  return { id, state: 'running', progress: { scanned: Math.min(run.progress.scanned, total), total } };
}
