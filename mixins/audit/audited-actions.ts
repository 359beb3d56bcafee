import type { ActionName, Actions } from '../../contracts/actions/call.ts';
import type { CollectionView } from '../../contracts/actions/collections.ts';
import { readTags, type Tags } from '../../contracts/requests/tags.ts';
import type { AccountId } from '../../lib/ids.ts';
import { readStoredLimits } from '../../lib/plans.ts';
import type { CollectionRow } from '../../store/catalog.ts';
import type { Store } from '../../store/port.ts';

type Params<A extends ActionName> = Actions[A]['params'];
type Result<A extends ActionName> = Actions[A]['result'];

/** How the audit trail describes calls of an action: without secrets, vectors and metadata. */
export interface AuditedAction<A extends ActionName> {
  /** Name in the trail. */
  name: string;
  /** Whether the change is made even if the store has no room for its entries. */
  freesSpace?: boolean;
  accountId(params: Params<A>): AccountId | null;
  target?(params: Params<A>): string;
  /** Names of parameters that say what was asked for. */
  asked?: readonly (keyof Params<A> & string)[];
  before?(store: Store, params: Params<A>): Promise<object | null>;
  after?(result: Result<A>): object;
}

const account = ({ accountId }: { accountId: AccountId }): AccountId => accountId;
const noAccount = (): null => null;

async function accountBefore({ catalog }: Store, { id }: { id: AccountId }): Promise<object | null> {
  const row = await catalog.getAccount(id);
  return row && { name: row.name, plan: row.plan };
}

const PLAN_LIMITS = ['vectors', 'writes', 'queries', 'collections', 'keys', 'shards', 'anchoring'] as const;

async function planBefore({ plans }: Store, { plan }: Params<'keys.deletePlan'>): Promise<object | null> {
  const row = await plans.find(plan);
  const stored = row && readStoredLimits(row.limits);
  return stored === null || stored.isDeleted ? null : stored.limits;
}

async function keyBefore({ keys }: Store, { accountId, id }: Params<'keys.revoke'>): Promise<object | null> {
  const row = await keys.find(accountId, id);
  return row && { name: row.name, prefix: row.prefix, scopes: row.scopes, expiresAt: row.expiresAt };
}

async function aliasBefore(
  { aliases }: Store,
  { accountId, alias }: { accountId: AccountId; alias: string },
): Promise<object | null> {
  const row = await aliases.find(accountId, alias);
  return row && { collectionId: row.collectionId };
}

/** What the creator of a collection chose, and its id. */
function collectionChoices(collection: Omit<CollectionRow, 'tags'> | CollectionView, tags: Tags = {}): object {
  const { id, dimensions, metric, shards, replicas, quantization, deletionProtection } = collection;
  return { collectionId: id, dimensions, metric, shards, replicas, quantization, deletionProtection, tags };
}

/** `name` may be an alias. */
async function collectionBefore(
  { aliases, catalog }: Store,
  { accountId, name }: Params<'collections.remove'>,
): Promise<object | null> {
  const named = await catalog.findCollection(accountId, name);
  const alias = named === null ? await aliases.find(accountId, name) : null;
  const row = alias === null ? named : await catalog.getCollection(alias.collectionId);
  return row && collectionChoices(row, readTags(row.tags));
}

const collectionAfter = (collection: CollectionView): object => collectionChoices(collection, collection.tags);

/** Every change that the audit trail records, by action. docs/audit.md lists them. */
export const AUDITED_ACTIONS: { readonly [A in ActionName]?: AuditedAction<A> } = {
  'keys.create': {
    name: 'key.create',
    accountId: account,
    asked: ['name', 'scopes', 'expires_at'],
    after: ({ id, name, key_prefix: prefix, scopes, expires_at: expiresAt }) => ({
      keyId: id,
      name,
      prefix,
      scopes,
      expiresAt,
    }),
  },
  'keys.revoke': {
    name: 'key.revoke',
    freesSpace: true,
    accountId: account,
    target: ({ id }) => id,
    before: keyBefore,
  },
  'keys.createAccount': {
    name: 'account.create',
    accountId: noAccount,
    asked: ['name', 'plan'],
    after: ({ account: { id, name, plan }, key }) => ({ accountId: id, name, plan, keyId: key.id }),
  },
  'keys.setPlan': {
    name: 'account.setPlan',
    accountId: ({ id }) => id,
    target: ({ id }) => id,
    asked: ['plan'],
    before: accountBefore,
    after: ({ plan }) => ({ plan }),
  },
  'keys.putPlan': {
    name: 'plan.set',
    accountId: noAccount,
    target: ({ plan }) => plan,
    asked: PLAN_LIMITS,
    before: planBefore,
    after: ({ name: _, source: __, ...limits }) => limits,
  },
  'keys.deletePlan': {
    name: 'plan.delete',
    freesSpace: true,
    accountId: noAccount,
    target: ({ plan }) => plan,
    before: planBefore,
  },
  'keys.deleteAccount': {
    name: 'account.delete',
    freesSpace: true,
    accountId: ({ id }) => id,
    target: ({ id }) => id,
    before: accountBefore,
  },
  'collections.create': {
    name: 'collection.create',
    accountId: account,
    target: ({ name }) => name,
    after: collectionAfter,
  },
  'collections.update': {
    name: 'collection.update',
    accountId: account,
    target: ({ name }) => name,
    asked: ['deletionProtection', 'tags'],
    before: collectionBefore,
    after: collectionAfter,
  },
  'collections.remove': {
    name: 'collection.delete',
    freesSpace: true,
    accountId: account,
    target: ({ name }) => name,
    before: collectionBefore,
  },
  'collections.putAlias': {
    name: 'alias.set',
    accountId: account,
    target: ({ alias }) => alias,
    asked: ['collection'],
    before: aliasBefore,
    after: ({ collection }) => ({ collection }),
  },
  'collections.deleteAlias': {
    name: 'alias.delete',
    freesSpace: true,
    accountId: account,
    target: ({ alias }) => alias,
    before: aliasBefore,
  },
  'collections.createAuditLink': {
    name: 'auditLink.create',
    accountId: account,
    target: ({ name }) => name,
    asked: ['label', 'expiresAt'],
    after: ({ id }) => ({ linkId: id }),
  },
  'collections.revokeAuditLink': {
    name: 'auditLink.revoke',
    freesSpace: true,
    accountId: account,
    target: ({ name }) => name,
    asked: ['id'],
  },
  'cluster.move': {
    name: 'shard.move',
    accountId: noAccount,
    target: ({ shard }) => shard,
    asked: ['node'],
    after: ({ shard, from, to }) => ({ shard, node: to, previousNode: from }),
  },
  'cluster.drain': {
    name: 'node.drain',
    accountId: noAccount,
    target: ({ node }) => node,
    after: ({ left }) => ({ shardsLeft: left }),
  },
  'cluster.resume': {
    name: 'collection.resume',
    accountId: noAccount,
    target: ({ collection }) => collection,
    after: ({ collectionId }) => ({ collectionId }),
  },
  'cluster.backup': {
    name: 'backup.create',
    accountId: noAccount,
    target: ({ folder }) => folder,
    asked: ['withoutSecrets'],
    after: ({ bytes, at, leftOut }) => ({ bytes, at, leftOut }),
  },
};
