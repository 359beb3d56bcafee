import type { Context, ServiceBroker } from 'moleculer';
import { type Caller, call } from '../../contracts/actions/call.ts';
import { abortingWith, signalOf } from '../../contracts/actions/cancelled.ts';
import type { AbsentFieldsOption, NamedCollection } from '../../contracts/actions/collections.ts';
import { planOf } from '../../contracts/actions/principal.ts';
import { firstOf } from '../../lib/checked-access.ts';
import { unauthenticated, unavailable } from '../../lib/errors.ts';
import { storedBatch } from '../../lib/records/namespace.ts';
import { withCollectionName } from '../../lib/shard/shard-unavailable.ts';
import { shardSpec } from '../../lib/shard/spec.ts';
import { withTimeLimit } from '../../lib/time/timers.ts';
import type { Handlers } from '../../mixins/handled-actions.ts';
import type { Runtime } from '../../process/runtime.ts';
import type { CollectionRow } from '../../store/catalog.ts';
import { AwaitedShards } from './awaited-shards.ts';
import { Aliases } from './lifecycle/aliases.ts';
import { anchorsPage } from './lifecycle/anchors-page.ts';
import { AuditLinks } from './lifecycle/audit-links.ts';
import { CollectionCatalog } from './lifecycle/catalog.ts';
import { collectionDetail, collectionView } from './lifecycle/collection-view.ts';
import { collectionsPage } from './lifecycle/collections-page.ts';
import { Removal } from './lifecycle/removal.ts';
import { ShardCallPace } from './paced-caller.ts';
import { beginExport, continueExport, keepExport, leaveExport } from './reads/collection-export.ts';
import { collectionMemory } from './reads/collection-memory.ts';
import { proveRecord } from './reads/collection-proof.ts';
import { queryCollection, withQueryQuota } from './reads/collection-query.ts';
import {
  type CollectionRead,
  countRecords,
  countValues,
  fetchRecords,
  listRecords,
} from './reads/collection-reader.ts';
import { namespacesPage } from './reads/namespaces-page.ts';
import { ShardReader } from './reads/shard-reader.ts';
import type { BodyOf } from './request-body.ts';
import { CollectionHeads } from './writes/collection-heads.ts';
import { CollectionWriter, type Write } from './writes/collection-writer.ts';
import { deleteNamespace, deleteRecords, updateRecords } from './writes/record-changes.ts';
import { WriteTime, writeTimeoutMs } from './writes/write-time.ts';

/** Maximum time in ms that a removal waits for the data to be gone. */
const REMOVAL_WAIT_MS = 10_000;

/** Handlers of the actions on collections and their records. */
export class CollectionsHandlers {
  readonly #runtime: Runtime;
  readonly #broker: ServiceBroker;
  readonly #catalog: CollectionCatalog;
  readonly #aliases: Aliases;
  readonly #auditLinks: AuditLinks;
  readonly #heads: CollectionHeads;
  readonly #writer: CollectionWriter;
  readonly #pace = new ShardCallPace();
  readonly #reader: ShardReader;
  readonly #removal: Removal;
  readonly #awaited: AwaitedShards;

  constructor(runtime: Runtime, broker: ServiceBroker) {
    const { store, log } = runtime;
    this.#runtime = runtime;
    this.#broker = broker;
    this.#catalog = new CollectionCatalog(runtime);
    this.#aliases = new Aliases(runtime, this.#catalog);
    this.#heads = new CollectionHeads(store.log, broker, this.#pace);
    this.#auditLinks = new AuditLinks(runtime, this.#catalog, this.#heads);
    this.#writer = new CollectionWriter(runtime, this.#heads, broker);
    this.#reader = new ShardReader((error) => log.error({ err: error }, 'excluded a shard from a partial result'));
    this.#removal = new Removal(broker, runtime, (id) => this.#catalog.idle(id));
    this.#awaited = new AwaitedShards(broker);
  }

  readonly actions: Handlers<'collections'> = {
    create: async (ctx) => {
      const { accountId, ...request } = ctx.params;
      const plan = await this.#runtime.plans.limitsOf(await planOf(ctx, accountId));
      const creation = await this.#catalog.create(accountId, request, plan);
      if (creation.outcome === 'no account') {
        await this.#removal.clear(creation.row);
        throw unauthenticated();
      }
      if (creation.outcome === 'limit') return call(ctx, 'metering.refuse', { accountId, limit: 'collections' });
      if (creation.outcome === 'shards')
        return call(ctx, 'metering.refuse', { accountId, limit: 'shards', requested: creation.shards });
      return collectionView(creation.row, 0);
    },
    list: ({ params }) => {
      const { config, store } = this.#runtime;
      return collectionsPage(store, { ...params, limit: params.limit ?? config.limits.collectionsPageMax });
    },
    resolve: ({ params }) => this.#catalog.resolve(params.accountId, params.name),
    nearestName: ({ params }) => this.#catalog.nearestName(params.accountId, params.name),
    get: (ctx) => this.#catalog.use(ctx.params, (row) => this.#detail(ctx, row)),
    update: (ctx) =>
      this.#catalog.use(ctx.params, async (row) => this.#detail(ctx, await this.#catalog.change(row, ctx.params))),
    remove: async ({ params }) => {
      const row = await this.#catalog.dropByName(params.accountId, params.name);
      await withTimeLimit(this.#removal.clear(row), REMOVAL_WAIT_MS, () => false);
      return { deleted: true } as const;
    },
    putAlias: ({ params }) => this.#aliases.put(params.accountId, params.alias, params.collection),
    getAlias: ({ params }) => this.#aliases.get(params.accountId, params.alias),
    deleteAlias: async ({ params }) => {
      await this.#aliases.remove(params.accountId, params.alias);
      return { deleted: true } as const;
    },
    aliasesPage: ({ params }) => this.#aliases.page(params.accountId, params.limit, params.cursor),
    upsert: (ctx) =>
      this.#write(ctx, (one, { records, namespace }) => this.#writer.upsert(one, storedBatch(namespace, records))),
    import: (ctx) => this.#write(ctx, (one) => this.#writer.import(one, ctx.params.batch)),
    delete: (ctx) => this.#write(ctx, (one, body) => deleteRecords(this.#writer, one, body)),
    updateRecords: (ctx) => {
      const { limits } = this.#runtime.config;
      return this.#write(ctx, (one, body) => updateRecords(this.#writer, one, body, limits));
    },
    deleteNamespace: (ctx) => this.#write(ctx, (one) => deleteNamespace(this.#writer, one, ctx.params.namespace)),
    export: (ctx) => {
      const { at } = ctx.params;
      return this.#use(ctx.params, (row) => {
        const caller = this.#pace.of(abortingWith(ctx, ctx.options), row);
        if (at !== undefined) return continueExport(caller, row, at);
        return beginExport(caller, this.#pace.of(detachedCaller(ctx), row), row, openMaxMsOf(ctx));
      });
    },
    keepExport: (ctx) => this.#use(ctx.params, (row) => keepExport(this.#pace.of(ctx, row), row, ctx.params.at)),
    leaveExport: (ctx) => this.#use(ctx.params, (row) => leaveExport(this.#pace.of(ctx, row), row, ctx.params.at)),
    namespaces: (ctx) => this.#read(ctx, (one) => namespacesPage(one, ctx.params, this.#runtime.config.limits)),
    query: (ctx) => this.#read(ctx, async (one, query) => firstOf(await queryCollection(one, this.#broker, [query]))),
    queries: (ctx) =>
      this.#read(ctx, async (one, { queries }) => ({
        results: await queryCollection(one, this.#broker, queries, (at) => `queries[${at}].id`),
      })),
    fetch: (ctx) => this.#read(ctx, fetchRecords),
    count: (ctx) => this.#read(ctx, countRecords),
    facets: (ctx) => this.#read(ctx, (one, body) => withQueryQuota(one, this.#broker, 1, () => countValues(one, body))),
    listRecords: (ctx) => this.#read(ctx, listRecords),
    whenReady: (ctx) => {
      const { shards } = ctx.params;
      return this.#use(ctx.params, async (row) => {
        const wanted = shards.filter((index) => index < row.shards);
        const maxMs = ctx.options.timeout || undefined;
        await Promise.all(
          wanted.map((index) => this.#awaited.ready(shardSpec(row, index), maxMs, signalOf(ctx.options))),
        );
        return null;
      });
    },
    proof: (ctx) => {
      const { accountId, id, namespace = '' } = ctx.params;
      return this.#catalog.use(ctx.params, async (row) => {
        const isAnchored = await this.#runtime.plans.isAnchored(await planOf(ctx, accountId));
        return proveRecord(ctx, row, { id, namespace }, isAnchored, (shard) => this.#heads.newest(shard));
      });
    },
    anchors: (ctx) => {
      const { limits } = this.#runtime.config;
      return this.#catalog.use(ctx.params, (row) => anchorsPage(ctx, row.id, ctx.params, limits));
    },
    memory: (ctx) => {
      const caller = abortingWith(ctx, ctx.options);
      return this.#catalog.use(ctx.params, (row) =>
        collectionMemory(this.#pace.of(caller, row), this.#runtime.store.checkpoints, row),
      );
    },
    createAuditLink: ({ params }) => this.#catalog.use(params, (row) => this.#auditLinks.create(row, params)),
    auditLinks: ({ params }) => this.#catalog.use(params, async (row) => ({ links: await this.#auditLinks.list(row) })),
    revokeAuditLink: ({ params }) =>
      this.#catalog.use(params, async (row) => {
        await this.#auditLinks.revoke(row, params.id);
        return { revoked: true } as const;
      }),
    auditLinkHolder: (ctx) => this.#auditLinks.holder(ctx, ctx.params.token),
    auditView: (ctx) => this.#auditLinks.view(ctx, ctx.params.token, ctx.params),
    removeAll: async ({ params }) => {
      const rows = await this.#runtime.store.catalog.listCollections(params.accountId);
      for (const row of rows) await this.#catalog.drop(row, true);
      if (!(await this.#removal.clearAll(params.accountId)))
        throw unavailable('The service could not clear all collections yet; try again.');
      return null;
    },
  };

  /** Takes up removals that an earlier process did not finish. */
  start(): Promise<void> {
    return this.#removal.resume();
  }

  stop(): Promise<void> {
    return this.#removal.stop();
  }

  async #detail(ctx: Context<object, object>, row: CollectionRow) {
    return collectionDetail(ctx, this.#runtime.plans, row, await this.#heads.committed(row));
  }

  /** Runs a write on a collection and returns its result within the caller's timeout. */
  #write<T, P extends NamedCollection & AbsentFieldsOption & { isAnchorAwaited?: boolean }>(
    ctx: Context<P, object>,
    operation: (write: Write, body: BodyOf<P>) => Promise<T>,
  ): Promise<T> {
    const { config, clock } = this.#runtime;
    const { isAnchorAwaited, wantsAbsentFields } = ctx.params;
    const body = bodyOf(ctx.params);
    const caller = isDryRun(body) ? abortingWith(detachedCaller(ctx), ctx.options) : detachedCaller(ctx);
    const time = new WriteTime(clock, ctx.options.timeout || writeTimeoutMs(config.anchorWaitMs), openMaxMsOf(ctx));
    return time.answer(
      this.#use(ctx.params, (row) =>
        operation({ caller: this.#pace.of(caller, row), row, time, isAnchorAwaited, wantsAbsentFields }, body),
      ),
    );
  }

  /** Runs a read of a collection, which ends when its caller disconnects. */
  #read<T, P extends NamedCollection & AbsentFieldsOption>(
    ctx: Context<P, object>,
    operation: (read: CollectionRead, body: BodyOf<P>) => Promise<T>,
  ): Promise<T> {
    const { wantsAbsentFields } = ctx.params;
    const body = bodyOf(ctx.params);
    const caller = abortingWith(ctx, ctx.options);
    const terms = { shards: this.#reader, openMaxMs: openMaxMsOf(ctx), wantsAbsentFields };
    return this.#use(ctx.params, (row) => operation({ ...terms, caller: this.#pace.of(caller, row), row }, body));
  }

  /** Runs `catalog.use`, and adds the collection's name to errors about unavailable shards. */
  #use<T>(named: NamedCollection, work: (row: CollectionRow) => Promise<T>): Promise<T> {
    return this.#catalog.use(named, (row) =>
      work(row).catch((error: unknown) => {
        throw withCollectionName(error, row.name);
      }),
    );
  }
}

/** Returns a caller whose calls continue after the request's timeout. */
function detachedCaller(ctx: Context<object, object>): Caller {
  return {
    meta: ctx.meta,
    call: (action, params, options) => ctx.broker.call(action, params, { ...options, parentCtx: ctx }),
  };
}

/** Returns the body among an action's parameters; undefined if the action has none. */
function bodyOf<P>(params: P): BodyOf<P> {
  return (params as { body?: unknown }).body as BodyOf<P>;
}

/** Returns true for a write that changes nothing, and so may be abandoned. */
function isDryRun(body: unknown): boolean {
  return (body as { dryRun?: boolean } | undefined)?.dryRun === true;
}

/**
 * Returns how long the request may wait for an unavailable shard, if its caller set a limit because
 * it holds resources meanwhile.
 */
function openMaxMsOf({ meta }: Context<object, object>): number | undefined {
  const { shardWaitMs } = meta as { shardWaitMs?: unknown };
  return typeof shardWaitMs === 'number' ? shardWaitMs : undefined;
}
