import type { Context } from 'moleculer';
import { call } from '../../contracts/actions/call.ts';
import type { KeysChanged, PlanChanged } from '../../contracts/actions/keys.ts';
import { planOf } from '../../contracts/actions/principal.ts';
import { planName } from '../../contracts/requests/account-requests.ts';
import { requestsOf } from '../../contracts/requests/requests.ts';
import { isProvecError } from '../../lib/errors.ts';
import type { AccountId } from '../../lib/ids.ts';
import type { Handlers } from '../../mixins/handled-actions.ts';
import type { Runtime } from '../../process/runtime.ts';
import { Accounts } from './accounts.ts';
import { ApiKeys } from './api-keys.ts';
import { auditEntriesPage } from './audit-entries.ts';
import { Authenticator } from './authenticator.ts';
import { LastUse } from './last-use.ts';
import { PlanCatalog } from './plan-catalog.ts';

/** Handlers of the actions on accounts and API keys. */
export class KeysHandlers {
  readonly #runtime: Runtime;
  readonly #requests: ReturnType<typeof requestsOf>;
  readonly #apiKeys: ApiKeys;
  readonly #plans: PlanCatalog;
  readonly #accounts: Accounts;
  readonly #lastUse: LastUse;
  readonly #authenticator: Authenticator;

  constructor(runtime: Runtime) {
    const { config, store, plans, clock } = runtime;
    this.#runtime = runtime;
    this.#requests = requestsOf(config.limits);
    this.#apiKeys = new ApiKeys(store.keys, clock);
    this.#plans = new PlanCatalog(store, plans);
    this.#accounts = new Accounts(store.catalog, this.#apiKeys, this.#plans, clock);
    this.#lastUse = new LastUse(store.keys, clock);
    this.#authenticator = new Authenticator({ store, clock }, this.#lastUse);
  }

  readonly actions: Handlers<'keys'> = {
    authenticate: ({ params }) => this.#authenticator.authenticate(params.secret),
    page: ({ params: { accountId, limit, cursor } }) => this.#apiKeys.page(accountId, limit, cursor),
    create: async (ctx) => {
      const { plans, clock } = this.#runtime;
      const { accountId } = ctx.params;
      const { expires_at: expiresAt, ...key } = this.#requests.createKey.decode(ctx.params, { wallMs: clock.wallMs() });
      const { keys: maxKeys } = await plans.limitsOf(await planOf(ctx, accountId));
      return (
        (await this.#apiKeys.create(accountId, { ...key, expiresAt }, maxKeys)) ??
        call(ctx, 'metering.refuse', { accountId, limit: 'keys' })
      );
    },
    revoke: async (ctx) => {
      const { accountId, id } = ctx.params;
      try {
        await this.#apiKeys.revoke(accountId, id);
      } catch (error) {
        // The store may have revoked the key before it failed.
        if (!isProvecError(error)) this.#announce(ctx, { accountId, what: 'key' });
        throw error;
      }
      this.#announce(ctx, { accountId, what: 'key' });
      return { revoked: true } as const;
    },
    plan: ({ params }) => this.#accounts.plan(params.accountId),
    plans: async () => ({ plans: await this.#plans.list() }),
    putPlan: async (ctx) => {
      const plan = planName(ctx.params.plan);
      const changed = await this.#plans.put(plan, this.#requests.putPlan.decode(ctx.params));
      this.#announcePlan(ctx, { plan });
      return changed;
    },
    deletePlan: async (ctx) => {
      const plan = planName(ctx.params.plan);
      await this.#plans.delete(plan);
      this.#announcePlan(ctx, { plan });
      return { deleted: true } as const;
    },
    createAccount: async ({ params }) => {
      const plans = await this.#plans.names();
      const { name, plan } = this.#requests.createAccount.decode(params, { plans });
      return this.#accounts.create(name, plan);
    },
    accountsPage: ({ params: { limit, cursor } }) => this.#accounts.page(limit, cursor),
    account: ({ params }) => this.#accounts.get(params.id),
    setPlan: async (ctx) => {
      const { plan } = this.#requests.changePlan.decode(ctx.params, { plans: await this.#plans.names() });
      const account = await this.#accounts.setPlan(ctx.params.id, plan);
      this.#announce(ctx, { accountId: account.id, what: 'plan' });
      return account;
    },
    auditPage: ({ params: { trail, after, limit } }) =>
      auditEntriesPage(this.#runtime.store.audit, trail, after, limit),
    deleteAccount: async (ctx) => {
      const { id } = ctx.params;
      const dropCollections = () => call(ctx, 'collections.removeAll', { accountId: id });
      await this.#accounts.delete(id, dropCollections);
      this.#announce(ctx, { accountId: id, what: 'account' });
      // A request admitted before the keys were deleted may have created a collection meanwhile. A
      // failure does not fail the deletion: the account is gone, so the operator cannot repeat it.
      await dropCollections().catch((error: unknown) => {
        this.#runtime.log.warn({ err: error }, 'collections of a deleted account could not be dropped yet');
      });
      return { deleted: true } as const;
    },
  };

  /** Drops what is cached of an account. */
  forget(accountId: AccountId): void {
    this.#authenticator.forget(accountId);
    this.#accounts.forget(accountId);
  }

  /** Resolves when no update of the store is under way. */
  settled(): Promise<void> {
    return this.#lastUse.settled();
  }

  /** Does not wait for other nodes: they look up limits twice a second. */
  #announcePlan(ctx: Context<unknown>, change: PlanChanged): void {
    this.#runtime.plans.forget();
    ctx.broker.broadcast('keys.planChanged', change).catch((error: unknown) => {
      this.#runtime.log.warn({ err: error }, 'keys.planChanged could not be announced');
    });
  }

  /** Does not wait for other nodes: their caches expire on their own. */
  #announce(ctx: Context<unknown>, change: KeysChanged): void {
    this.forget(change.accountId);
    ctx.broker.broadcast('keys.changed', change).catch((error: unknown) => {
      this.#runtime.log.warn({ err: error }, 'keys.changed could not be announced');
    });
  }
}
