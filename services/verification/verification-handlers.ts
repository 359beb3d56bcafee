import type { ServiceBroker } from 'moleculer';
import { call } from '../../contracts/actions/call.ts';
import type { ShardRecomputing } from '../../contracts/actions/shards.ts';
import { notFound } from '../../lib/errors.ts';
import { committedCut } from '../../lib/shard/cut.ts';
import type { Handlers } from '../../mixins/handled-actions.ts';
import { peersWith } from '../../mixins/peers.ts';
import type { Runtime } from '../../process/runtime.ts';
import { VerificationNodes } from './verification-nodes.ts';
import { Verifications } from './verifications.ts';
import { Verifier } from './verifier.ts';

/** Handlers of the actions that compare stored data with the ledger. */
export class VerificationHandlers {
  readonly #runtime: Runtime;
  readonly #verifier: Verifier;
  readonly #verifications: Verifications;
  readonly #nodes: VerificationNodes;

  constructor(runtime: Runtime, broker: ServiceBroker, pause: (ms: number) => Promise<unknown>) {
    const own = { id: broker.nodeID, instanceId: broker.instanceID };
    this.#runtime = runtime;
    this.#verifier = new Verifier(broker, runtime, pause);
    this.#verifications = new Verifications(this.#verifier, runtime);
    this.#nodes = new VerificationNodes(broker, own, () => peersWith(broker, 'verification.find'));
  }

  readonly actions: Handlers<'verification'> = {
    verify: async (ctx) => {
      const row = await call(ctx, 'collections.resolve', ctx.params);
      return this.#verifier.begin(row).result;
    },
    begin: async (ctx) => {
      const collection = await call(ctx, 'collections.resolve', ctx.params);
      return { ...(await this.#nodes.begin(ctx, collection)), collection: collection.name };
    },
    get: async (ctx) => {
      const { id, ...named } = ctx.params;
      const collection = await call(ctx, 'collections.resolve', named);
      const found = await this.#nodes.find(collection.id, id);
      if (found === null) throw notFound('VERIFICATION_NOT_FOUND');
      return found;
    },
    run: async ({ params: { collection } }) => {
      const cut = await committedCut(this.#runtime.store.log, collection);
      const total = cut.reduce((sum, { count }) => sum + count, 0);
      const running = this.#verifications.running(collection.id) ?? (await this.#nodes.running(collection.id));
      return running ?? this.#verifications.begin(collection, total, this.#nodes.newId());
    },
    list: () => this.#verifications.list(),
    find: ({ params: { collectionId, id } }) =>
      id === undefined ? this.#verifications.running(collectionId) : this.#verifications.find(collectionId, id),
  };

  /** Follows the progress of a shard's recomputation. */
  recomputing(progress: ShardRecomputing): void {
    this.#verifier.recomputing(progress);
  }

  stop(): void {
    this.#verifications.stop();
  }
}
