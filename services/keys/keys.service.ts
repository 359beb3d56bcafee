import type { Context, ServiceSchema } from 'moleculer';
import type { KeysChanged } from '../../contracts/actions/keys.ts';
import { handledActions } from '../../mixins/handled-actions.ts';
import type { Runtime } from '../../process/runtime.ts';
import { KeysHandlers } from './keys-handlers.ts';

/** A field that clients send; the decoders in contracts/requests/ check it. */
const sent = { type: 'any', optional: true } as const;
const PAGE = {
  limit: { type: 'number', integer: true, min: 1 },
  cursor: { type: 'string', optional: true },
} as const;

const CHECKS = {
  authenticate: { secret: sent },
  page: { accountId: 'string', ...PAGE },
  create: { accountId: 'string', name: sent, scopes: sent, expires_at: sent },
  revoke: { accountId: 'string', id: 'string' },
  plan: { accountId: 'string' },
  plans: {},
  putPlan: {
    plan: 'string',
    vectors: sent,
    writes: sent,
    queries: sent,
    collections: sent,
    keys: sent,
    shards: sent,
    anchoring: sent,
  },
  deletePlan: { plan: 'string' },
  createAccount: { name: sent, plan: sent },
  accountsPage: PAGE,
  account: { id: 'string' },
  setPlan: { id: 'string', plan: sent },
  deleteAccount: { id: 'string' },
  auditPage: {
    trail: 'string',
    after: { type: 'number', integer: true, min: 0 },
    limit: { type: 'number', integer: true, min: 1 },
  },
} as const;

/** Accounts, API keys and authentication. */
export default function keysService(runtime: Runtime): ServiceSchema {
  const keys = new KeysHandlers(runtime);
  return {
    name: 'keys',
    actions: handledActions<'keys'>(() => keys.actions, CHECKS, {}, runtime),
    events: {
      'keys.changed': ({ params }: Context<KeysChanged>) => keys.forget(params.accountId),
    },
    stopped: () => keys.settled(),
  };
}
