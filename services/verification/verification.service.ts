import { setTimeout as delay } from 'node:timers/promises';
import type { Context, ServiceSchema } from 'moleculer';
import { type Actions, call } from '../../lib/actions/call.ts';
import type { VerificationActions } from '../../lib/actions/verification.ts';
import type { Runtime } from '../../lib/runtime.ts';
import { timedAction } from '../../mixins/timed-action.ts';
import { Verifier } from './verifier.ts';

type Params<A extends keyof VerificationActions> = Context<VerificationActions[A]['params']>;
type Result<A extends keyof VerificationActions> = Promise<Actions[A]['result']>;

/**
 * Recomputes roots from stored data and compares them with the ledger. `pause` is what it does
 * between two looks at a ledger that moves on.
 */
export default function verificationService(
  runtime: Runtime,
  pause: (ms: number) => Promise<unknown> = delay,
): ServiceSchema {
  let verifier: Verifier;
  return {
    name: 'verification',

    actions: {
      // Bounded by its parts: reading a large collection takes as long as it takes.
      verify: {
        ...timedAction(0, async (ctx: Params<'verification.verify'>): Result<'verification.verify'> => {
          const row = await call(ctx, 'collections.resolve', ctx.params);
          return verifier.verify(row);
        }),
        params: { accountId: 'string', name: 'string' },
      },
    },

    created() {
      verifier = new Verifier(this.broker, runtime, pause);
    },
  };
}
