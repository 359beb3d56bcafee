import type { ServiceSchema } from 'moleculer';
import { handledActions } from '../../mixins/handled-actions.ts';
import type { Runtime } from '../../process/runtime.ts';
import { CollectionsHandlers } from './collections-handlers.ts';
import { BODY_CHECKS } from './request-body.ts';
import { writeTimeoutMs } from './writes/write-time.ts';

/** Parameter checks of the actions. */
const ACCOUNT = { accountId: 'string' } as const;
const NAMED = { ...ACCOUNT, name: 'string', collectionId: { type: 'string', optional: true } } as const;
const ALIAS = { ...ACCOUNT, alias: 'string' } as const;
const WRITTEN = { ...NAMED, isAnchorAwaited: { type: 'boolean', optional: true } } as const;
const FIELDS_WANTED = { wantsAbsentFields: { type: 'boolean', optional: true } } as const;
const READ = { ...NAMED, ...FIELDS_WANTED } as const;
const CHANGED = { ...WRITTEN, ...FIELDS_WANTED } as const;
/** Checks of the body that an action takes. */
const bodied = (props: object) => ({ body: { type: 'object', props } });
const PAGE = {
  limit: { type: 'number', integer: true, min: 1, optional: true },
  cursor: { type: 'string', optional: true },
} as const;
const NULLABLE_TEXT = { type: 'string', optional: true, nullable: true } as const;
const CHECKS = {
  create: { ...ACCOUNT, ...BODY_CHECKS.createIndex },
  update: { ...NAMED, ...BODY_CHECKS.changeCollection },
  resolve: NAMED,
  nearestName: { ...ACCOUNT, name: 'string' },
  get: NAMED,
  remove: NAMED,
  anchors: NAMED,
  memory: NAMED,
  createAuditLink: { ...NAMED, label: NULLABLE_TEXT, expiresAt: NULLABLE_TEXT },
  auditLinks: NAMED,
  revokeAuditLink: { ...NAMED, id: 'string' },
  auditLinkHolder: { token: 'string' },
  auditView: { token: 'string', ...PAGE },
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
  aliasesPage: { ...ACCOUNT, ...PAGE, limit: { ...PAGE.limit, optional: false } },
} as const;

/** Catalog of collections, and the operations that fan out over their shards. */
export default function collectionsService(runtime: Runtime): ServiceSchema {
  const write = writeTimeoutMs(runtime.config.anchorWaitMs);
  const timeouts = { upsert: write, import: write, delete: write, updateRecords: write, deleteNamespace: write };
  let collections: CollectionsHandlers;
  return {
    name: 'collections',
    actions: handledActions<'collections'>(() => collections.actions, CHECKS, { ...timeouts, removeAll: 0 }, runtime),
    created() {
      collections = new CollectionsHandlers(runtime, this.broker);
    },
    started: () => collections.start(),
    stopped: () => collections.stop(),
  };
}
