import type { Context, ServiceBroker, ServiceSchema } from 'moleculer';
import type { KeysChanged } from '../../contracts/actions/keys.ts';
import type { CollectionId } from '../../lib/ids.ts';
import { handledActions } from '../../mixins/handled-actions.ts';
import type { Runtime } from '../../process/runtime.ts';
import { AnchoringHandlers, type EmbeddedLedger } from './anchoring-handlers.ts';

const COLLECTION = { collectionId: 'string' } as const;
const AWAITED_CUT = { ...COLLECTION, cut: 'array', waitMs: 'number' } as const;

/**
 * Service that writes roots to the ledger. `embedded` is the embedded ledger; null if the
 * configuration gives RPC URLs or turns the ledger off. `started` throws ConfigError if there is no
 * keypair to sign with.
 */
export default function anchoringService(runtime: Runtime, embedded: EmbeddedLedger | null): ServiceSchema {
  let broker: ServiceBroker;
  const anchoring = new AnchoringHandlers(runtime, embedded, () => broker);
  return {
    name: 'anchoring',
    actions: handledActions<'anchoring'>(
      () => anchoring.actions,
      {
        submit: AWAITED_CUT,
        confirmation: AWAITED_CUT,
        state: COLLECTION,
        address: COLLECTION,
        onChain: COLLECTION,
        explorerUrl: { signature: 'string' },
        history: { ...COLLECTION, limit: 'number', before: { type: 'number', nullable: true } },
        halt: { ...COLLECTION, reason: 'string' },
        resume: COLLECTION,
        close: COLLECTION,
        info: {},
        balance: {},
        stats: {},
      },
      // The wait is limited by `waitMs`; the caller sets its own timeout.
      { submit: 0, confirmation: 0 },
    ),
    events: {
      'anchoring.changed': ({ params, nodeID }: Context<{ collectionId: CollectionId }>): void => {
        if (nodeID !== broker.nodeID) anchoring.rowChanged(params.collectionId);
      },
      // Does not make the client that changed the plan wait.
      'keys.changed': ({ params: { accountId, what } }: Context<KeysChanged>): void => {
        if (what === 'plan') anchoring.takeUpAccount(accountId);
      },
      'keys.planChanged': () => anchoring.takeUpAll(),
    },
    created() {
      broker = this.broker;
    },
    started: () => anchoring.start(),
    stopped: () => anchoring.stop(),
  };
}
