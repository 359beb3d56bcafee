/**
 * Which instance of the service a verification in the background is on.
 *
 * Promises: instances that see the same ones connected agree on the one that begins it (rendezvous
 * hashing), and one that came to be in charge asks the others what they run. An id says which
 * process gave it out, and nothing about the machine.
 * How it fails: instances that do not see each other may each run one for a collection, which costs
 * work only. What ran in a process that ended is gone with it.
 */
import { hash, randomUUID } from 'node:crypto';
import { type Caller, call } from '../../lib/actions/call.ts';
import type { Verification } from '../../lib/actions/verification.ts';
import { Placement } from '../../lib/placement/placement.ts';
import type { Peer } from '../../mixins/peers.ts';

/** An instance answers from memory. */
export const ASK_TIMEOUT_MS = 5_000;
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

  /** The node that is to begin a verification of the collection. */
  inChargeOf(collectionId: string): string {
    this.#placement = this.#placement.with(this.#instances().map(({ id }) => ({ node: id, weight: 1 })));
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

  /** Null where the node has none, or is gone. */
  async #ask(nodeID: string, collectionId: string, id?: string): Promise<Verification | null> {
    const asked = { collectionId, ...(id !== undefined && { id }) };
    try {
      return await call(this.#caller, 'verification.find', asked, { nodeID, timeout: ASK_TIMEOUT_MS });
    } catch (error) {
      if (this.#instances().some((node) => node.id === nodeID)) throw error;
      return null;
    }
  }

  #instances(): Peer[] {
    return [this.#own, ...this.#peers()];
  }
}

const tagOf = (instanceId: string): string => hash('sha256', instanceId).slice(0, TAG_CHARS);
