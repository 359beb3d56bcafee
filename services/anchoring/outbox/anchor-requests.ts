/**
 * Stores which cuts are to be anchored, on any instance.
 *
 * When `want` resolves with a row that is neither halted nor closing, the cut is durably in the
 * row's `wanted` (or confirmed). `wanted` only grows. Calls for a collection during a write of its
 * row share the next write, so an instance never has more than one request write of a row in
 * progress. Throws the store's errors; the cut then stays in memory for `again`, and after a crash
 * the log still has it.
 */

import { randomInt } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { getOrThrow } from '../../../lib/checked-access.ts';
import type { CollectionId } from '../../../lib/ids.ts';
import { cutContains, mergeCuts } from '../../../lib/shard/cut.ts';
import type { Cut } from '../../../lib/shard/head.ts';
import type { AnchorRow } from '../../../store/anchors.ts';
import type { AnchoringContext } from '../context.ts';
import { newRow } from './anchor-row.ts';

/** Maximum random pause between attempts, to let the instance in charge make its changes. */
const PAUSE_MAX_MS = 16;

interface Writing {
  cut: Cut;
  row: Promise<AnchorRow | null>;
}

export class AnchorRequests {
  readonly #context: AnchoringContext;
  readonly #onWanted: (collectionId: CollectionId) => void;
  readonly #running = new Map<string, Promise<unknown>>();
  readonly #next = new Map<string, Writing>();
  readonly #unwritten = new Map<string, Cut>();

  /** `onWanted` is called when a request grows. */
  constructor(context: AnchoringContext, onWanted: (collectionId: CollectionId) => void) {
    this.#context = context;
    this.#onWanted = onWanted;
  }

  /**
   * Requests an anchor for `cut`, and returns the row with it; null if the collection was deleted.
   * Throws StoreError.
   */
  want(collectionId: CollectionId, cut: Cut): Promise<AnchorRow | null> {
    const next = this.#next.get(collectionId);
    if (next) {
      next.cut = mergeCuts(next.cut, cut);
      return next.row;
    }
    const before = this.#running.get(collectionId) ?? Promise.resolve();
    const row = before.then(() => this.#begin(collectionId));
    this.#next.set(collectionId, { cut, row });
    return row;
  }

  /** Retries the requests that the store did not accept. Throws StoreError. */
  async again(): Promise<void> {
    for (const [collectionId, cut] of [...this.#unwritten]) {
      this.#unwritten.delete(collectionId);
      await this.want(collectionId, cut);
    }
  }

  async #begin(collectionId: CollectionId): Promise<AnchorRow | null> {
    const { cut } = getOrThrow(this.#next, collectionId);
    this.#next.delete(collectionId);
    const writing = this.#write(collectionId, cut);
    const ended = writing.catch(() => {
      const unwritten = this.#unwritten.get(collectionId);
      this.#unwritten.set(collectionId, unwritten ? mergeCuts(unwritten, cut) : cut);
    });
    this.#running.set(collectionId, ended);
    void ended.then(() => {
      if (this.#running.get(collectionId) === ended) this.#running.delete(collectionId);
    });
    return writing;
  }

  async #write(collectionId: CollectionId, cut: Cut): Promise<AnchorRow | null> {
    const { store, clock, ledger } = this.#context;
    const { anchors, catalog } = store;
    for (;;) {
      const row = await anchors.get(collectionId);
      const wantedAt = row?.wantedAt ?? new Date(clock.wallMs()).toISOString();
      if (row === null) {
        if ((await catalog.getCollection(collectionId)) === null) return null;
        const first = { ...newRow(collectionId, await ledger.address(collectionId)), wanted: cut, wantedAt };
        if (await anchors.add(first)) {
          this.#onWanted(collectionId);
          return first;
        }
      } else {
        if (row.closing || row.halted) return row;
        const { wanted, confirmed } = row;
        if ((confirmed && cutContains(confirmed.cut, cut)) || (wanted && cutContains(wanted, cut))) return row;
        const next = {
          ...row,
          revision: row.revision + 1,
          wanted: wanted ? mergeCuts(wanted, cut) : cut,
          wantedAt,
        };
        if (await anchors.put(next)) {
          this.#onWanted(collectionId);
          return next;
        }
      }
      await delay(randomInt(0, PAUSE_MAX_MS));
    }
  }
}
