/**
 * Which instance of the service a verification in the background is on.
 *
 * Promises: instances that see the same ones connected agree on the one that begins it (rendezvous
 * hashing), and one that came to be in charge asks the others what they run. An id says which
 * process gave it out, and nothing about the machine.
 * An instance that is leaving is passed over: what it ran is gone.
 * How it fails: instances that do not see each other may each run one for a collection, which costs
 * work only. What ran in a process that ended is gone with it.
 */
import { hash, randomUUID } from 'node:crypto';
import { type Caller, call } from '../../lib/actions/call.ts';
import type { Verification } from '../../lib/actions/verification.ts';
import { Placement } from '../../lib/placement/placement.ts';
import type { CollectionRow } from '../../lib/store/catalog.ts';
import type { Peer } from '../../mixins/peers.ts';
import { isUnsent } from '../../mixins/transport/undelivered.ts';

/** An instance answers from memory. */
const ASK_TIMEOUT_MS = 5_000;
const TAG_CHARS = 16;

export class VerificationNodes {
  readonly #caller: Caller;
  readonly #own: Peer;
  readonly #peers: () => Peer[];
  #placement = new Placement([]);

  /** `peers`: the nodes of the other instances that count as connected. */
  constructor(caller: Caller, own: Peer, peers: () => Peer[]) {
    this.#caller = caller;
    this.#own = own;
    this.#peers = peers;
  }

  newId(): string {
    return `${tagOf(this.#own.instanceId)}-${randomUUID()}`;
  }

  /** Has the node in charge begin a verification, or give the one that runs. */
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

  #inChargeOf(collectionId: string, leaving: ReadonlySet<string>): string {
    const others = this.#instances().filter(({ id }) => !leaving.has(id));
    this.#placement = this.#placement.with(others.map(({ id }) => ({ node: id, weight: 1 })));
    return this.#placement.preferred(collectionId)!;
  }

  /** What another node runs for the collection. Throws where one does not answer. */
  async running(collectionId: string): Promise<Verification | null> {
    const asked = this.#peers().map(({ id }) => this.#ask(id, collectionId));
    return (await Promise.all(asked)).find((found) => found !== null) ?? null;
  }

  /** The verification by that id; null where its process has ended, or has let go of it. */
  async find(collectionId: string, id: string): Promise<Verification | null> {
    const node = this.#instances().find(({ instanceId }) => id.startsWith(`${tagOf(instanceId)}-`));
    return node === undefined ? null : this.#ask(node.id, collectionId, id);
  }

  /** Null where the node has none, or is gone, or about to go. */
  async #ask(nodeID: string, collectionId: string, id?: string): Promise<Verification | null> {
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
