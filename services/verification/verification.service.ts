import { setTimeout as delay } from 'node:timers/promises';
import type { Context, ServiceSchema } from 'moleculer';
import { type Actions, call } from '../../contracts/actions/call.ts';
import type { ShardRecomputing } from '../../contracts/actions/shards.ts';
import type { VerificationActions } from '../../contracts/actions/verification.ts';
import { notFound } from '../../lib/errors.ts';
import { committedCut } from '../../lib/shard/cut.ts';
import { checkedActions } from '../../mixins/checked-actions.ts';
import { peersWith } from '../../mixins/peers.ts';
import { timedAction } from '../../mixins/timed-action.ts';
import type { Runtime } from '../../process/runtime.ts';
import { VerificationNodes } from './verification-nodes.ts';
import { Verifications } from './verifications.ts';
import { Verifier } from './verifier.ts';

type Params<A extends keyof VerificationActions> = Context<VerificationActions[A]['params']>;
type Result<A extends keyof VerificationActions> = Promise<Actions[A]['result']>;

const NAMED = { accountId: 'string', name: 'string' } as const;
const CHECKS = {
  get: { ...NAMED, id: 'string' },
  run: { collection: 'object' },
  find: { collectionId: 'string', id: { type: 'string', optional: true } },
} as const;

/**
 * Compares roots recomputed from stored data with the ledger, while the caller waits or in the
 * background. `pause` waits between two reads of a changing ledger.
 */
export default function verificationService(
  runtime: Runtime,
  pause: (ms: number) => Promise<unknown> = delay,
): ServiceSchema {
  let verifier: Verifier;
  let verifications: Verifications;
  let nodes: VerificationNodes;
  return {
    name: 'verification',

    actions: checkedActions(NAMED, CHECKS, {
      // No timeout, because reading a collection may take long; its calls have timeouts.
      verify: timedAction(0, async (ctx: Params<'verification.verify'>): Result<'verification.verify'> => {
        const row = await call(ctx, 'collections.resolve', ctx.params);
        return verifier.begin(row).result;
      }),

      async begin(ctx: Params<'verification.begin'>): Result<'verification.begin'> {
        const collection = await call(ctx, 'collections.resolve', ctx.params);
        return { ...(await nodes.begin(ctx, collection)), collection: collection.name };
      },

      async get(ctx: Params<'verification.get'>): Result<'verification.get'> {
        const { id, ...named } = ctx.params;
        const collection = await call(ctx, 'collections.resolve', named);
        const found = await nodes.find(collection.id, id);
        if (found === null) throw notFound('VERIFICATION_NOT_FOUND');
        return found;
      },

      async run({ params: { collection } }: Params<'verification.run'>): Result<'verification.run'> {
        const cut = await committedCut(runtime.store.log, collection);
        const total = cut.reduce((sum, { count }) => sum + count, 0);
        const running = verifications.running(collection.id) ?? (await nodes.running(collection.id));
        return running ?? verifications.begin(collection, total, nodes.newId());
      },

      async find({ params: { collectionId, id } }: Params<'verification.find'>): Result<'verification.find'> {
        return id === undefined ? verifications.running(collectionId) : verifications.find(collectionId, id);
      },
    }),

    events: {
      'shards.recomputing': ({ params }: Context<ShardRecomputing>): void => verifier.recomputing(params),
    },

    created() {
      const { broker } = this;
      const own = { id: broker.nodeID, instanceId: broker.instanceID };
      verifier = new Verifier(broker, runtime, pause);
      verifications = new Verifications(verifier, runtime);
      nodes = new VerificationNodes(broker, own, () => peersWith(broker, 'verification.find'));
    },

    async stopped() {
      verifications.stop();
    },
  };
}
