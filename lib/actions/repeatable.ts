import type { ActionName } from './call.ts';

/**
 * Actions that may be repeated when it is unknown whether they were carried out: they only read,
 * or do the same thing twice, or take what costs little to take twice (a query that a dead node had
 * counted stays counted, the room that it held for a write comes back by itself). Those about a
 * shard are not here: the shard router has them.
 */
const REPEATABLE: readonly ActionName[] = [
  'anchoring.submit',
  'anchoring.confirmation',
  'anchoring.state',
  'anchoring.address',
  'anchoring.onChain',
  'anchoring.explorerUrl',
  'anchoring.history',
  'anchoring.info',
  'anchoring.stats',
  'cluster.nodes',
  'cluster.shards',
  'cluster.collections',
  'cluster.anchors',
  'collections.list',
  'collections.get',
  'collections.getAlias',
  'collections.listAliases',
  'collections.aliasesPage',
  'collections.resolve',
  'collections.query',
  'collections.queries',
  'collections.fetch',
  'collections.count',
  'collections.facets',
  'collections.listRecords',
  'collections.namespaces',
  'collections.keepExport',
  'collections.leaveExport',
  'collections.whenReady',
  'collections.proof',
  'collections.anchors',
  'keys.authenticate',
  'keys.list',
  'keys.page',
  'keys.plan',
  'keys.listAccounts',
  'keys.accountsPage',
  'metering.usage',
  'metering.takeQuery',
  'metering.reserveWrite',
  'metering.renew',
  'metering.settle',
  'verification.verify',
  'verification.begin',
  'verification.get',
];

export const isRepeatable = (action: string): boolean => (REPEATABLE as readonly string[]).includes(action);
