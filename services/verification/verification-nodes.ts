/**
 * Chooses and finds the instance that runs a background verification.
 *
 * Instances that see the same instances agree on which one starts it (rendezvous hashing). An
 * instance that becomes responsible asks the others what they run. An id identifies the process
 * that issued it and reveals nothing about the machine. A leaving instance is skipped, because its
 * verifications end with it.
 * Instances that do not see each other may each run a verification of a collection, which only
 * costs work. Verifications in a process that ended are lost.
 */

import { hash, randomUUID } from 'node:crypto';
import { type Caller, call } from '../../contracts/actions/call.ts';
import type { Verification } from '../../contracts/actions/verification.ts';
import type { CollectionId } from '../../lib/ids.ts';
import { Placement } from '../../lib/placement/placement.ts';
import type { Peer } from '../../mixins/peers.ts';
import type { CollectionRow } from '../../store/catalog.ts';
import { isUnsent } from '../../transport/undelivered.ts';

/** An instance answers from memory. */
const ASK_TIMEOUT_MS = 5_000;
const TAG_CHARS = 16;

export class VerificationNodes {
  readonly #caller: Caller;
  readonly #own: Peer;
  readonly #peers: () => Peer[];
  #placement = new Placement([]);

  /** `peers` returns the other connected instances. */
  constructor(caller: Caller, own: Peer, peers: () => Peer[]) {
    this.#caller = caller;
    this.#own = own;
    this.#peers = peers;
  }

  newId(): string {
    return `${tagOf(this.#own.instanceId)}-${randomUUID()}`;
  }

  /** Starts a verification on the responsible node, or returns the running one. */
  async begin(caller: Caller, collection: CollectionRow): Promise<Verification> {
    const leaving = new Set<string>();
    for (;;) {
      const nodeID = this.#inChargeOf(collection.id, leaving);
      try {
        return await call(caller, 'verification.run', { collection }, { nodeID, timeout: 2 * ASK_TIMEOUT_MS });
      } catch (error) {
        if (nodeID === this.#own.id || !isUnsent(error as Error)) throw error;
        leaving.add(nodeID);
      }
    }
  }

  #inChargeOf(collectionId: CollectionId, leaving: ReadonlySet<string>): string {
    const others = this.#instances().filter(({ id }) => !leaving.has(id));
    this.#placement = this.#placement.with(others.map(({ id }) => ({ node: id, weight: 1 })));
    return this.#placement.preferred(collectionId)!;
  }

  /** Returns the verification that another node runs, or null. Throws if one does not respond. */
  async running(collectionId: CollectionId): Promise<Verification | null> {
    const asked = this.#peers().map(({ id }) => this.#ask(id, collectionId));
    return (await Promise.all(asked)).find((found) => found !== null) ?? null;
  }

  /** Returns the verification with that id; null if its process has ended or no longer keeps it. */
  async find(collectionId: CollectionId, id: string): Promise<Verification | null> {
    const node = this.#instances().find(({ instanceId }) => id.startsWith(`${tagOf(instanceId)}-`));
    return node === undefined ? null : this.#ask(node.id, collectionId, id);
  }

  /** Returns null if the node has no such verification, is gone or is leaving. */
  async #ask(nodeID: string, collectionId: CollectionId, id?: string): Promise<Verification | null> {
    const asked = { collectionId, ...(id !== undefined && { id }) };
    try {
      return await call(this.#caller, 'verification.find', asked, { nodeID, timeout: ASK_TIMEOUT_MS });
    } catch (error) {
      const isThere = this.#instances().some((node) => node.id === nodeID);
      if (isThere && !isUnsent(error as Error)) throw error;
      return null;
    }
  }

  #instances(): Peer[] {
    return [this.#own, ...this.#peers()];
  }
}

const tagOf = (instanceId: string): string => hash('sha256', instanceId).slice(0, TAG_CHARS);
