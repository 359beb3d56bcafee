import type { Logger } from 'pino';
import type { Clock } from '../../../lib/runtime.ts';
import type { Cut } from '../../../lib/shard/head.ts';
import type { AnchorRow, AnchorStore } from '../../../lib/store/anchors.ts';
import type { CollectionRow } from '../../../lib/store/catalog.ts';
import type { ContradictionStore } from '../../../lib/store/contradictions.ts';
import { changeRow, closeRow, logHalt, newRow } from './anchor-row.ts';

export interface DecisionsOptions {
  anchors: AnchorStore;
  contradictions: ContradictionStore;
  clock: Clock;
  log: Logger;
  address(collectionId: string): Promise<string>;
  /** Null when the collection was deleted. */
  collection(id: string): Promise<CollectionRow | null>;
  /** What the log holds. */
  loggedCut(collection: CollectionRow): Promise<Cut>;
  want(collectionId: string, cut: Cut): Promise<unknown>;
}

/**
 * What somebody else than the outbox decides about a collection. It stands in the row before any of
 * these resolves, so that every instance goes by it. All throw StoreError.
 */
export class Decisions {
  readonly #options: DecisionsOptions;

  constructor(options: DecisionsOptions) {
    this.#options = options;
  }

  /** Nothing is anchored until an operator decides. */
  async halt(collectionId: string, reason: string): Promise<void> {
    const { anchors, clock, log, address } = this.#options;
    if ((await anchors.get(collectionId))?.halted) return;
    const halted = { reason, at: new Date(clock.wallMs()).toISOString() };
    const first = { ...newRow(collectionId, await address(collectionId)), halted };
    if (!(await anchors.add(first))) await this.#change(collectionId, (row) => ({ halted: row.halted ?? halted }));
    logHalt(log, collectionId, reason);
  }

  /** What the shards hold now is right, although the ledger shows `shown`: it is anchored next. */
  async resume(collectionId: string, shown: string): Promise<void> {
    const { contradictions, collection, loggedCut, clock } = this.#options;
    const wasContradicted = (await contradictions.list(collectionId)).length > 0;
    // First, so that a crash in between leaves the collection halted.
    await contradictions.clear(collectionId);
    const owner = await collection(collectionId);
    const wanted = owner && (await loggedCut(owner));
    const wantedAt = new Date(clock.wallMs()).toISOString();
    // The epoch rises even where nothing is halted: an outbox may just have read a contradiction
    // that is cleared now.
    await this.#change(collectionId, (row) =>
      row.halted || wasContradicted
        ? { halted: null, confirmed: null, lapsed: null, trusted: shown, wanted: wanted ?? row.wanted, wantedAt }
        : {},
    );
    // Of what was written while the row was halted nothing was wanted.
    if (owner) await this.#options.want(collectionId, await loggedCut(owner));
  }

  /** The collection is deleted: its account is to be closed and its row forgotten. */
  async close(collectionId: string): Promise<void> {
    await closeRow(this.#options.anchors, collectionId);
  }

  async #change(collectionId: string, change: (newest: AnchorRow) => Partial<AnchorRow>): Promise<void> {
    const { anchors } = this.#options;
    for (let row = await anchors.get(collectionId); row !== null; row = await anchors.get(collectionId)) {
      if ((await changeRow(anchors, row, change)) !== null) return;
    }
  }
}
