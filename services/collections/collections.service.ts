import type { Context, ServiceBroker, ServiceSchema } from 'moleculer';
import { type Actions, type Caller, call } from '../../contracts/actions/call.ts';
import { abortingWith } from '../../contracts/actions/cancelled.ts';
import type { AbsentFieldsOption, CollectionsActions, NamedCollection } from '../../contracts/actions/collections.ts';
import { planOf } from '../../contracts/actions/principal.ts';
import { firstOf } from '../../lib/checked-access.ts';
import { unauthenticated, unavailable } from '../../lib/errors.ts';
import { storedBatch } from '../../lib/records/namespace.ts';
import { withCollectionName } from '../../lib/shard/shard-unavailable.ts';
import { shardSpec } from '../../lib/shard/spec.ts';
import { withTimeLimit } from '../../lib/time/timers.ts';
import { checkedActions } from '../../mixins/checked-actions.ts';
import { timedAction } from '../../mixins/timed-action.ts';
import { isAnchoringEnabled } from '../../process/config.ts';
import type { Runtime } from '../../process/runtime.ts';
import type { CollectionRow } from '../../store/catalog.ts';
import { AwaitedShards } from './awaited-shards.ts';
import { Aliases } from './lifecycle/aliases.ts';
import { anchorsPage } from './lifecycle/anchors-page.ts';
import { CollectionCatalog } from './lifecycle/catalog.ts';
import { collectionDetail, collectionView } from './lifecycle/collection-view.ts';
import { collectionsPage } from './lifecycle/collections-page.ts';
import { Removal } from './lifecycle/removal.ts';
import { ShardCallPace } from './paced-caller.ts';
import { beginExport, continueExport, keepExport, leaveExport } from './reads/collection-export.ts';
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
import { BODY_CHECKS, type BodyOf, requestBody } from './request-body.ts';
import { CollectionHeads } from './writes/collection-heads.ts';
import { CollectionWriter, type Write } from './writes/collection-writer.ts';
import { deleteNamespace, deleteRecords, updateRecords } from './writes/record-changes.ts';
import { WriteTime, writeTimeoutMs } from './writes/write-time.ts';

/** Parameter checks of the actions. */
const ACCOUNT = { accountId: 'string' } as const;
const NAMED = { ...ACCOUNT, name: 'string', collectionId: { type: 'string', optional: true } } as const;
const ALIAS = { ...ACCOUNT, alias: 'string' } as const;
const WRITTEN = { ...NAMED, isAnchorAwaited: { type: 'boolean', optional: true } } as const;
const FIELDS_WANTED = { wantsAbsentFields: { type: 'boolean', optional: true } } as const;
const READ = { ...NAMED, ...FIELDS_WANTED } as const;
const CHANGED = { ...WRITTEN, ...FIELDS_WANTED } as const;
/** Checks of the body that an action takes. It is absent in calls of earlier versions. */
const bodied = (props: object) => ({ body: { type: 'object', props, optional: true } });
const PAGE = {
  limit: { type: 'number', integer: true, min: 1, optional: true },
  cursor: { type: 'string', optional: true },
} as const;
const CHECKS = {
  create: { ...ACCOUNT, ...BODY_CHECKS.createIndex },
  update: { ...NAMED, ...BODY_CHECKS.changeCollection },
  list: { ...ACCOUNT, ...PAGE, isUncounted: { type: 'boolean', optional: true } },
  upsert: { ...WRITTEN, ...bodied(BODY_CHECKS.upsert) },
  delete: { ...CHANGED, ...bodied(BODY_CHECKS.delete) },
  updateRecords: { ...CHANGED, ...bodied(BODY_CHECKS.update) },
  deleteNamespace: { ...WRITTEN, namespace: 'string' },
  import: { ...WRITTEN, batch: 'object' },
  export: { ...NAMED, at: { type: 'object', optional: true } },
  keepExport: { ...NAMED, at: 'object' },
  leaveExport: { ...NAMED, at: 'object' },
  namespaces: { ...NAMED, ...PAGE, prefix: { type: 'string', optional: true } },
  proof: { ...NAMED, id: 'string', namespace: { type: 'string', optional: true } },
  fetch: { ...NAMED, ...bodied(BODY_CHECKS.fetch) },
  query: { ...READ, ...bodied(BODY_CHECKS.query) },
  queries: { ...READ, ...bodied(BODY_CHECKS.queries) },
  count: { ...READ, ...bodied(BODY_CHECKS.count) },
  facets: { ...READ, ...bodied(BODY_CHECKS.facets) },
  listRecords: { ...READ, ...bodied(BODY_CHECKS.list) },
  whenReady: { ...NAMED, shards: { type: 'array', items: 'number' } },
  removeAll: ACCOUNT,
  putAlias: { ...ALIAS, collection: 'string' },
  getAlias: ALIAS,
  deleteAlias: ALIAS,
  listAliases: ACCOUNT,
  aliasesPage: { ...ACCOUNT, ...PAGE, limit: { ...PAGE.limit, optional: false } },
} as const;

type Params<A extends keyof CollectionsActions> = Context<CollectionsActions[A]['params']>;
type Result<A extends keyof CollectionsActions> = Promise<Actions[A]['result']>;

/** Maximum time in ms that a removal waits for the data to be gone. */
const REMOVAL_WAIT_MS = 10_000;

/** Returns a caller whose calls continue after the request's timeout. */
function detachedCaller(ctx: Context<object, object>): Caller {
  return {
    meta: ctx.meta,
    call: (action, params, options) => ctx.broker.call(action, params, { ...options, parentCtx: ctx }),
  };
}

/** Returns true for a write that changes nothing, and so may be abandoned. */
function isDryRun(body: unknown): boolean {
  return (body as { dryRun?: boolean } | undefined)?.dryRun === true;
}

/**
 * Returns how long the request may wait for an unavailable shard, if its caller set a limit because
 * it holds resources meanwhile.
 */
function awayMaxMsOf({ meta }: Context<object, object>): number | undefined {
  const { shardWaitMs } = meta as { shardWaitMs?: unknown };
  return typeof shardWaitMs === 'number' ? shardWaitMs : undefined;
}

/** Catalog of collections, and the operations that fan out over their shards. */
export default function collectionsService(runtime: Runtime): ServiceSchema {
  const { config, store, clock, log } = runtime;
  const { limits } = config;
  const catalog = new CollectionCatalog(runtime);
  const aliases = new Aliases(runtime, catalog);
  const heads = new CollectionHeads(store.log);
  const writer = new CollectionWriter(runtime, heads);
  const pace = new ShardCallPace();
  const reader = new ShardReader((error) => log.error({ err: error }, 'excluded a shard from a partial result'));
  const timeoutMs = writeTimeoutMs(config.anchorWaitMs);
  let broker: ServiceBroker;
  let removal: Removal;
  let awaited: AwaitedShards;

  /** Runs a write on a collection and returns its result within the caller's timeout. */
  function write<T, P extends NamedCollection & AbsentFieldsOption & { isAnchorAwaited?: boolean }>(
    ctx: Context<P, object>,
    operation: (write: Write, body: BodyOf<P>) => Promise<T>,
  ): Promise<T> {
    const { isAnchorAwaited, wantsAbsentFields } = ctx.params;
    const body = requestBody(ctx.params, limits);
    const caller = isDryRun(body) ? abortingWith(detachedCaller(ctx), ctx.options) : detachedCaller(ctx);
    const time = new WriteTime(clock, ctx.options.timeout || timeoutMs, awayMaxMsOf(ctx));
    return time.answer(
      use(ctx.params, (row) =>
        operation({ caller: pace.of(caller, row), row, time, isAnchorAwaited, wantsAbsentFields }, body),
      ),
    );
  }

  /** Runs a read of a collection, which ends when its caller disconnects. */
  function read<T, P extends NamedCollection & AbsentFieldsOption>(
    ctx: Context<P, object>,
    operation: (read: CollectionRead, body: BodyOf<P>) => Promise<T>,
  ): Promise<T> {
    const { wantsAbsentFields } = ctx.params;
    const body = requestBody(ctx.params, limits);
    const caller = abortingWith(ctx, ctx.options);
    const terms = { shards: reader, awayMaxMs: awayMaxMsOf(ctx), wantsAbsentFields };
    return use(ctx.params, (row) => operation({ ...terms, caller: pace.of(caller, row), row }, body));
  }

  /** Runs `catalog.use`, and adds the collection's name to errors about unavailable shards. */
  function use<T>(named: NamedCollection, work: (row: CollectionRow) => Promise<T>): Promise<T> {
    return catalog.use(named, (row) =>
      work(row).catch((error: unknown) => {
        throw withCollectionName(error, row.name);
      }),
    );
  }

  return {
    name: 'collections',

    actions: checkedActions(NAMED, CHECKS, {
      async create(ctx: Params<'collections.create'>): Result<'collections.create'> {
        const { accountId, ...request } = ctx.params;
        const creation = await catalog.create(accountId, request, config.plans[await planOf(ctx, accountId)]);
        if (creation.outcome === 'no account') {
          await removal.clear(creation.row);
          throw unauthenticated();
        }
        if (creation.outcome === 'limit') return call(ctx, 'metering.refuse', { accountId, limit: 'collections' });
        if (creation.outcome === 'shards') {
          return call(ctx, 'metering.refuse', { accountId, limit: 'shards', requested: creation.shards });
        }
        return collectionView(creation.row, 0);
      },

      async list({ params }: Params<'collections.list'>): Result<'collections.list'> {
        return collectionsPage(store, { ...params, limit: params.limit ?? limits.collectionsPageMax });
      },

      resolve({ params }: Params<'collections.resolve'>): Result<'collections.resolve'> {
        return catalog.resolve(params.accountId, params.name);
      },

      get(ctx: Params<'collections.get'>): Result<'collections.get'> {
        return catalog.use(ctx.params, async (row) => collectionDetail(ctx, config, row, await heads.committed(row)));
      },

      update(ctx: Params<'collections.update'>): Result<'collections.update'> {
        return catalog.use(ctx.params, async (row) => {
          const changed = await catalog.change(row, ctx.params);
          return collectionDetail(ctx, config, changed, await heads.committed(changed));
        });
      },

      async remove(ctx: Params<'collections.remove'>): Result<'collections.remove'> {
        const { accountId, name } = ctx.params;
        const row = await catalog.dropByName(accountId, name);
        await withTimeLimit(removal.clear(row), REMOVAL_WAIT_MS, () => false);
        return { deleted: true };
      },

      putAlias({ params }: Params<'collections.putAlias'>): Result<'collections.putAlias'> {
        return aliases.put(params.accountId, params.alias, params.collection);
      },

      getAlias({ params }: Params<'collections.getAlias'>): Result<'collections.getAlias'> {
        return aliases.get(params.accountId, params.alias);
      },

      async deleteAlias({ params }: Params<'collections.deleteAlias'>): Result<'collections.deleteAlias'> {
        await aliases.remove(params.accountId, params.alias);
        return { deleted: true };
      },

      listAliases({ params }: Params<'collections.listAliases'>): Result<'collections.listAliases'> {
        return aliases.list(params.accountId);
      },

      aliasesPage({ params }: Params<'collections.aliasesPage'>): Result<'collections.aliasesPage'> {
        return aliases.page(params.accountId, params.limit, params.cursor);
      },

      upsert: timedAction(timeoutMs, (ctx: Params<'collections.upsert'>): Result<'collections.upsert'> => {
        return write(ctx, (one, { records, namespace }) => writer.upsert(one, storedBatch(namespace, records)));
      }),

      import: timedAction(timeoutMs, (ctx: Params<'collections.import'>): Result<'collections.import'> => {
        return write(ctx, (one) => writer.import(one, ctx.params.batch));
      }),

      delete: timedAction(timeoutMs, (ctx: Params<'collections.delete'>): Result<'collections.delete'> => {
        return write(ctx, (one, body) => deleteRecords(writer, one, body));
      }),

      updateRecords: timedAction(
        timeoutMs,
        (ctx: Params<'collections.updateRecords'>): Result<'collections.updateRecords'> => {
          return write(ctx, (one, body) => updateRecords(writer, one, body, limits));
        },
      ),

      deleteNamespace: timedAction(
        timeoutMs,
        (ctx: Params<'collections.deleteNamespace'>): Result<'collections.deleteNamespace'> => {
          return write(ctx, (one) => deleteNamespace(writer, one, ctx.params.namespace));
        },
      ),

      export(ctx: Params<'collections.export'>): Result<'collections.export'> {
        const { at } = ctx.params;
        return use(ctx.params, (row) =>
          at === undefined
            ? beginExport(pace.of(abortingWith(ctx, ctx.options), row), detachedCaller(ctx), row, awayMaxMsOf(ctx))
            : continueExport(ctx, row, at),
        );
      },

      keepExport(ctx: Params<'collections.keepExport'>): Result<'collections.keepExport'> {
        return use(ctx.params, (row) => keepExport(ctx, row, ctx.params.at));
      },

      leaveExport(ctx: Params<'collections.leaveExport'>): Result<'collections.leaveExport'> {
        return use(ctx.params, (row) => leaveExport(ctx, row, ctx.params.at));
      },

      namespaces(ctx: Params<'collections.namespaces'>): Result<'collections.namespaces'> {
        return read(ctx, (one) => namespacesPage(one, ctx.params, limits));
      },

      query(ctx: Params<'collections.query'>): Result<'collections.query'> {
        return read(ctx, async (one, query) => firstOf(await queryCollection(one, broker, [query])));
      },

      queries(ctx: Params<'collections.queries'>): Result<'collections.queries'> {
        return read(ctx, async (one, { queries }) => {
          return { results: await queryCollection(one, broker, queries, (at) => `queries[${at}].id`) };
        });
      },

      fetch(ctx: Params<'collections.fetch'>): Result<'collections.fetch'> {
        return read(ctx, fetchRecords);
      },

      count(ctx: Params<'collections.count'>): Result<'collections.count'> {
        return read(ctx, countRecords);
      },

      facets(ctx: Params<'collections.facets'>): Result<'collections.facets'> {
        return read(ctx, (one, body) => withQueryQuota(one, broker, 1, () => countValues(one, body)));
      },

      listRecords(ctx: Params<'collections.listRecords'>): Result<'collections.listRecords'> {
        return read(ctx, listRecords);
      },

      whenReady(ctx: Params<'collections.whenReady'>): Result<'collections.whenReady'> {
        const { shards } = ctx.params;
        return use(ctx.params, async (row) => {
          const wanted = shards.filter((index) => index < row.shards);
          await Promise.all(
            wanted.map((index) => awaited.ready(shardSpec(row, index), ctx.options.timeout || undefined)),
          );
          return null;
        });
      },

      proof(ctx: Params<'collections.proof'>): Result<'collections.proof'> {
        const { accountId, id, namespace = '' } = ctx.params;
        return catalog.use(ctx.params, async (row) => {
          const isAnchored = isAnchoringEnabled(config, await planOf(ctx, accountId));
          return proveRecord(ctx, row, { id, namespace }, isAnchored, (shard) =>
            heads.newest(pace.of(detachedCaller(ctx), row), shard),
          );
        });
      },

      anchors(ctx: Params<'collections.anchors'>): Result<'collections.anchors'> {
        return catalog.use(ctx.params, (row) => anchorsPage(ctx, row.id, ctx.params, limits));
      },

      removeAll: timedAction(
        0,
        async ({ params }: Params<'collections.removeAll'>): Result<'collections.removeAll'> => {
          const rows = await store.catalog.listCollections(params.accountId);
          for (const row of rows) await catalog.drop(row, true);
          if (!(await removal.clearAll(params.accountId))) {
            throw unavailable('The service could not clear all collections yet; try again.');
          }
          return null;
        },
      ),
    }),

    created() {
      broker = this.broker;
      awaited = new AwaitedShards(this.broker);
      removal = new Removal(this.broker, runtime, (id) => catalog.idle(id));
    },

    async started() {
      await removal.resume();
    },

    async stopped() {
      await removal.stop();
    },
  };
}
