import { setTimeout as delay } from 'node:timers/promises';
import type { Context, ServiceSchema } from 'moleculer';
import type { ShardRecomputing } from '../../contracts/actions/shards.ts';
import { handledActions } from '../../mixins/handled-actions.ts';
import type { Runtime } from '../../process/runtime.ts';
import { VerificationHandlers } from './verification-handlers.ts';

const NAMED = { accountId: 'string', name: 'string' } as const;

/**
 * Compares roots recomputed from stored data with the ledger, while the caller waits or in the
 * background. `pause` waits between two reads of a changing ledger.
 */
export default function verificationService(
  runtime: Runtime,
  pause: (ms: number) => Promise<unknown> = delay,
): ServiceSchema {
  let verification: VerificationHandlers;
  return {
    name: 'verification',
    actions: handledActions<'verification'>(
      () => verification.actions,
      {
        verify: NAMED,
        begin: NAMED,
        get: { ...NAMED, id: 'string' },
        run: { collection: 'object' },
        list: {},
        find: { collectionId: 'string', id: { type: 'string', optional: true } },
      },
      // Reading a collection may take long; its calls have timeouts.
      { verify: 0 },
    ),
    events: {
      'shards.recomputing': ({ params }: Context<ShardRecomputing>): void => verification.recomputing(params),
    },
    created() {
      verification = new VerificationHandlers(runtime, this.broker, pause);
    },
    stopped: async () => verification.stop(),
  };
}
