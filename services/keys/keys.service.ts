import type { Context, ServiceSchema } from 'moleculer';
import { type Actions, call } from '../../contracts/actions/call.ts';
import type { KeysActions, KeysChanged } from '../../contracts/actions/keys.ts';
import { planOf } from '../../contracts/actions/principal.ts';
import { requestsOf } from '../../contracts/requests/requests.ts';
import { isProvecError } from '../../lib/errors.ts';
import type { Runtime } from '../../process/runtime.ts';
import { Accounts } from './accounts.ts';
import { ApiKeys } from './api-keys.ts';
import { Authenticator } from './authenticator.ts';
import { LastUse } from './last-use.ts';

type Call<N extends keyof KeysActions> = Context<Actions[N]['params']>;

/** A field that clients send; the decoders in contracts/requests/ check it. */
const sent = { type: 'any', optional: true };
const PAGE = {
  limit: { type: 'number', integer: true, min: 1 },
  cursor: { type: 'string', optional: true },
} as const;

/** Accounts, API keys and authentication. */
export default function keysService({ config, store, clock, log }: Runtime): ServiceSchema {
  const requests = requestsOf(config.limits);
  const apiKeys = new ApiKeys(store.keys, clock);
  const accounts = new Accounts(store.catalog, apiKeys, clock);
  const lastUse = new LastUse(store.keys, clock);
  const authenticator = new Authenticator({ store, clock }, lastUse);

  const clearCaches = (): void => {
    authenticator.clear();
    accounts.clear();
  };
  /** Does not wait for other nodes: their caches expire on their own. */
  const announce = (ctx: Context<unknown>, change: KeysChanged): void => {
    clearCaches();
    ctx.broker.broadcast('keys.changed', change).catch((error: unknown) => {
      log.warn({ err: error }, 'keys.changed could not be announced');
    });
  };

  return {
    name: 'keys',
    actions: {
      authenticate: {
        params: { secret: sent },
        handler: (ctx: Call<'keys.authenticate'>) => authenticator.authenticate(ctx.params.secret),
      },
      list: {
        params: { accountId: 'string' },
        handler: (ctx: Call<'keys.list'>) => apiKeys.list(ctx.params.accountId),
      },
      page: {
        params: { accountId: 'string', ...PAGE },
        handler: ({ params: { accountId, limit, cursor } }: Call<'keys.page'>) =>
          apiKeys.page(accountId, limit, cursor),
      },
      create: {
        params: { accountId: 'string', name: sent, scopes: sent, expires_at: sent },
        async handler(ctx: Call<'keys.create'>) {
          const { accountId } = ctx.params;
          const { expires_at: expiresAt, ...key } = requests.createKey.decode(ctx.params, { wallMs: clock.wallMs() });
          const { keys: maxKeys } = config.plans[await planOf(ctx, accountId)];
          return (
            (await apiKeys.create(accountId, { ...key, expiresAt }, maxKeys)) ??
            call(ctx, 'metering.refuse', { accountId, limit: 'keys' })
          );
        },
      },
      revoke: {
        params: { accountId: 'string', id: 'string' },
        async handler(ctx: Call<'keys.revoke'>) {
          const { accountId, id } = ctx.params;
          try {
            await apiKeys.revoke(accountId, id);
          } catch (error) {
            // It may have been revoked nevertheless.
            if (!isProvecError(error)) announce(ctx, { accountId, what: 'key' });
            throw error;
          }
          announce(ctx, { accountId, what: 'key' });
          return { revoked: true };
        },
      },
      plan: {
        params: { accountId: 'string' },
        handler: (ctx: Call<'keys.plan'>) => accounts.plan(ctx.params.accountId),
      },
      createAccount: {
        params: { name: sent, plan: sent },
        handler(ctx: Call<'keys.createAccount'>) {
          const { name, plan } = requests.createAccount.decode(ctx.params);
          return accounts.create(name, plan);
        },
      },
      listAccounts: { handler: () => accounts.list() },
      accountsPage: {
        params: PAGE,
        handler: ({ params: { limit, cursor } }: Call<'keys.accountsPage'>) => accounts.page(limit, cursor),
      },
      setPlan: {
        params: { id: 'string', plan: sent },
        async handler(ctx: Call<'keys.setPlan'>) {
          const account = await accounts.setPlan(ctx.params.id, requests.changePlan.decode(ctx.params).plan);
          announce(ctx, { accountId: account.id, what: 'plan' });
          return account;
        },
      },
      deleteAccount: {
        params: { id: 'string' },
        async handler(ctx: Call<'keys.deleteAccount'>) {
          const { id } = ctx.params;
          const dropCollections = () => call(ctx, 'collections.removeAll', { accountId: id });
          await accounts.delete(id, dropCollections);
          announce(ctx, { accountId: id, what: 'account' });
          // A request admitted before the keys were deleted may have created a collection
          // meanwhile.
          await dropCollections();
          return { deleted: true };
        },
      },
    },
    events: {
      'keys.changed': clearCaches,
    },
    stopped: () => lastUse.settled(),
  };
}
