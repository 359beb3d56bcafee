import type { ActionName } from './call.ts';

/**
 * Actions that may run twice when the outcome of a call is unknown. They only read, are idempotent,
 * or reserve something cheap: a query that a dead node counted stays counted, and room that it
 * reserved for a write expires. The shard router lists the actions on shards.
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
  'collections.aliasesPage',
  'collections.resolve',
  'collections.nearestName',
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
  'keys.page',
  'keys.plan',
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
