import { planSchema } from '../../../contracts/requests/account-requests.ts';
import { VERIFICATION_STATE, VERIFY_STATES } from './collections.ts';
import type { Descriptions } from './operation.ts';
import {
  countSchema,
  flagSchema,
  integerSchema,
  listSchema,
  MORE,
  nullableSchema,
  type OpenApiSchema,
  type OpenApiSchemas,
  object,
  ref,
  TRUE,
  textSchema,
  time,
} from './schema.ts';

const nullableText = (description: string): OpenApiSchema => nullableSchema(textSchema(description));
const nullableCount = (description: string): OpenApiSchema => nullableSchema(countSchema(description));

const NODE: OpenApiSchemas = {
  node: textSchema('Name of the node.'),
  version: nullableText('Version of Provec.'),
  uptimeSeconds: nullableCount('Null if the node cannot be reached.'),
};
const collection = textSchema('`<account id>/<name>`');
const anchorState = textSchema(
  '`none`: nothing was to be anchored yet. `halted`: nothing is anchored until the operator resumes it.',
  { enum: ['none', 'confirmed', 'pending', 'halted', 'closing'] },
);

/** Schemas that only the operator's routes use. */
export const OPERATOR_SCHEMAS: OpenApiSchemas = {
  Account: object(
    {
      id: textSchema('UUID.'),
      name: textSchema('Name of the account.'),
      plan: planSchema,
      created_at: time(),
      usage: ref('Usage'),
    },
    ['usage'],
  ),
  Plan: object(
    {
      name: planSchema,
      vectors: nullableCount('Stored vectors.'),
      writes: nullableCount('Records written per month.'),
      queries: nullableCount('Queries and facets per month.'),
      collections: nullableCount('Collections.'),
      keys: countSchema('API keys.'),
      shards: nullableCount('Shards of a new collection.'),
      anchoring: flagSchema('Whether roots are written to the ledger.'),
      source: textSchema('`stored`: by the operator, which takes precedence. `environment`: PROVEC_PLANS.', {
        enum: ['stored', 'environment', 'built-in'],
      }),
    },
    [],
    { description: 'Limits per account; null means none.' },
  ),
  ShardNode: object({
    ...NODE,
    lease: flagSchema('Whether the store has a lease of the node. True for a single process, which needs none.'),
    draining: flagSchema('Whether the node takes no more shards.'),
    open: nullableCount('Shards in memory.'),
    opening: nullableCount('Shards that are being opened.'),
    copies: nullableCount("Copies of other nodes' shards."),
    bytes: nullableCount('Memory that the shards take.'),
    memoryLimitBytes: nullableCount('Memory that the node may use.'),
    queued: nullableCount('Requests that wait for a shard.'),
    load: nullableSchema({
      type: 'number',
      description: 'Average number of busy worker threads, out of `workers`. Null for a single process.',
    }),
    workers: nullableCount('Worker threads.'),
    error: nullableText('Why the node did not answer; fields that only it can report are null then.'),
  }),
  OtherNode: object({
    ...NODE,
    services: listSchema({ type: 'string' }, { description: 'Services that run there.' }),
    available: flagSchema('Whether calls can reach the node.'),
  }),
  Shard: object({
    shard: textSchema('`<collection id>.<index>`'),
    collection,
    node: nullableText('Node that holds the shard; null if none does.'),
    epoch: countSchema('Number of times that a node took the shard.'),
    seq: countSchema('Commits.'),
    records: countSchema('Stored records.'),
    bytes: nullableCount('Size in memory. Null unless the shard is known to be open.'),
    followers: listSchema(
      object({ node: textSchema('Node that holds the copy.'), lag: nullableCount('Commits that the copy lacks.') }),
      { description: 'Copies on other nodes.' },
    ),
    state: textSchema(
      '`closed`: held by a node, and not in memory. `unclaimed`: a node takes it when it is next used.',
      { enum: ['open', 'closed', 'unclaimed', 'unreachable'] },
    ),
  }),
  CollectionOfAccount: object({
    id: textSchema('UUID.'),
    accountId: textSchema('UUID.'),
    account: textSchema('Name of the account.'),
    name: textSchema('Name of the collection.'),
    shards: countSchema('Shards.'),
    replicas: countSchema('Followers per shard.'),
    vectors: countSchema('Stored vectors.'),
    bytes: countSchema('Memory that its open shards take.'),
    anchor: anchorState,
  }),
  AnchorOverview: object({
    collectionId: textSchema('UUID.'),
    collection: nullableText('`<account id>/<name>`; null if the collection was deleted.'),
    state: anchorState,
    wantedVersion: nullableSchema(integerSchema('Version that is to be anchored.')),
    confirmedVersion: nullableSchema(integerSchema('Version of the newest confirmed root.')),
    waitingSeconds: nullableCount('Age of the oldest root that waits. Null if none does.'),
    confirmedAgeSeconds: nullableCount('Age of the newest confirmed root.'),
    haltedReason: nullableText('What contradicts what Provec recorded.'),
  }),
  VerificationOverview: object({
    ...VERIFICATION_STATE,
    collectionId: textSchema('UUID.'),
    collection,
    startedAt: time(),
    endedAt: nullableSchema(time('Null while it runs.')),
    verdict: nullableSchema(textSchema('State of the result; null unless it is done.', { enum: VERIFY_STATES })),
    error: nullableText('Why it failed; null unless it did.'),
  }),
  Backup: object({
    name: textSchema('Name of its folder.'),
    folder: textSchema("Path on the service's machine."),
    state: textSchema(
      '`interrupted`: the service ended before the copy was complete; delete the folder. `failed`: nothing is left of it.',
      { enum: ['running', 'done', 'failed', 'interrupted'] },
    ),
    bytes: countSchema('Size of the copy so far.'),
    at: nullableSchema(time('When it was complete. Null if it is not.')),
    error: nullableText('Why it failed. Null if it did not.'),
  }),
  Ledger: object(
    {
      enabled: flagSchema('False if the ledger is off: nothing is anchored.'),
      isEmbedded: flagSchema("Whether it is the service's own ledger, for development."),
      cluster: textSchema('Cluster of Solana.'),
      program: textSchema('Address of the Token-2022 program.'),
      authority: nullableText('Address that signs. Null if the ledger is off.'),
      lamports: nullableCount(
        'Balance of that address, which pays for anchors; a SOL is 1,000,000,000 lamports. Null if the ledger is off, or did not answer within 3 s.',
      ),
      rpc: listSchema({ type: 'string' }, { description: 'Origins of the nodes of the ledger.' }),
      account: object({
        collectionId: textSchema('UUID.'),
        address: textSchema("The collection's account on the ledger."),
        explorerUrl: nullableText('Link to it in an explorer.'),
      }),
    },
    ['account'],
  ),
};

const account = ref('Account');
const unreachable = listSchema(
  object({ node: textSchema('Name of the node.'), error: textSchema('Why it did not answer.') }),
  { description: 'Nodes that did not answer, so that what only they can report is missing.' },
);
const UNKNOWN = 'A collection is named by its id, as `<account>/<name>`, or by a name that only one account has.';

/** Descriptions of the operator's routes. */
export const OPERATOR_DESCRIPTIONS: Descriptions = {
  'keys.createAccount': [
    'createAccount',
    'Create an account with its first key',
    object({ account, key: ref('NewApiKey') }),
  ],
  'keys.accountsPage': [
    'listAccounts',
    'List accounts, oldest first',
    object({ accounts: listSchema(account), nextCursor: MORE }, ['nextCursor']),
    'With `usage=true` each account has its usage, and a page has at most 100.',
  ],
  'keys.account': ['getAccount', 'Get an account with its usage', object({ account })],
  'keys.plans': [
    'listPlans',
    'List the plans with their limits',
    object({ plans: listSchema(ref('Plan')) }),
    'PROVEC_PLANS changes built-in plans of the processes that have it; a stored plan takes precedence in all of them.',
  ],
  'keys.putPlan': [
    'putPlan',
    'Create a plan, or change its limits',
    object({ plan: ref('Plan') }),
    'Takes effect within half a second, without a restart. Accounts that use more keep what they have, and get `PLAN_LIMIT_REACHED` for more.',
  ],
  'keys.deletePlan': [
    'deletePlan',
    'Delete a stored plan',
    object({ deleted: TRUE }),
    'A built-in plan gets its configured limits back. Any other plan must have no account.',
  ],
  'keys.setPlan': ['changePlan', "Change an account's plan", object({ account })],
  'keys.deleteAccount': ['deleteAccount', 'Delete an account with everything it owns', object({ deleted: TRUE })],
  'keys.page': [
    'listAccountKeys',
    "List an account's keys, newest first, without their secrets",
    object({ keys: listSchema(ref('ApiKey')), nextCursor: MORE }, ['nextCursor']),
  ],
  'keys.create': [
    'createAccountKey',
    'Create a key of an account, such as one that replaces a lost key',
    object({ key: ref('NewApiKey') }),
    'Only this response contains the secret. The plan limits the number of keys.',
  ],
  'keys.revoke': ['revokeAccountKey', "Revoke an account's key", object({ revoked: TRUE })],
  'cluster.nodes': [
    'listNodes',
    'List the nodes of the service',
    object({
      shardNodes: listSchema(ref('ShardNode')),
      others: listSchema(ref('OtherNode')),
      omitted: countSchema('Nodes left out because there are too many to list.'),
    }),
  ],
  'cluster.drain': [
    'drainNode',
    'Move all shards off a node',
    object({ node: textSchema('Name of the node.'), left: countSchema('Shards that it still holds.') }),
    'The node takes no shards until it restarts. Repeat the request while `left` is above 0.',
  ],
  'cluster.shards': [
    'listShards',
    'List shards: where they are, and how far their copies have got',
    object({ shards: listSchema(ref('Shard')), unreachable, nextCursor: MORE }, ['nextCursor']),
    UNKNOWN,
  ],
  'cluster.move': [
    'moveShard',
    'Give a shard to another node',
    object({
      shard: textSchema('`<collection id>.<index>`'),
      node: textSchema('Node that holds it now.'),
      previousNode: nullableText('Node that held it; null if none did.'),
    }),
    'Reads and writes wait while the shard moves.',
  ],
  'cluster.collections': [
    'listAllCollections',
    'List the collections of all accounts',
    object({ collections: listSchema(ref('CollectionOfAccount')), unreachable, nextCursor: MORE }, ['nextCursor']),
  ],
  'cluster.anchors': [
    'listAllAnchors',
    'List what is on the ledger, and what waits',
    object({ anchors: listSchema(ref('AnchorOverview')), nextCursor: MORE }, ['nextCursor']),
  ],
  'cluster.verifications': [
    'listAllVerifications',
    'List the background verifications of all accounts',
    object({ verifications: listSchema(ref('VerificationOverview')), unreachable, nextCursor: MORE }, ['nextCursor']),
    'Those that run come first, then those that ended within the last hour, the newest first. A node lists the last 1,000 that ended on it. The result is in the answer of `getVerification`, which the account can get.',
  ],
  'cluster.resume': [
    'resumeAnchoring',
    'Accept the content of a halted collection, and anchor it',
    object({ collectionId: textSchema('UUID.') }),
    'This decides that what the shards hold is right. Find out first why the collection is halted.',
  ],
  'cluster.startBackup': [
    'startBackup',
    'Start a backup in the folder for backups',
    object({ backup: ref('Backup') }),
    'One backup runs at a time. A service with its data in MongoDB is backed up by the tools of MongoDB.',
  ],
  'cluster.backups': [
    'listBackups',
    'List the backups in the folder for backups, by name, the last one first',
    object({ backups: listSchema(ref('Backup')), nextCursor: MORE }, ['nextCursor']),
  ],
  'cluster.ledger': ['getLedger', 'Get the ledger and its authority', ref('Ledger'), UNKNOWN],
};
