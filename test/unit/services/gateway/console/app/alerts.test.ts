import { expect, test } from '@jest/globals';
import type * as Api from '../../../../../../client/api/generated.ts';
import type { Figures } from '../../../../../../client/metrics/figures.ts';
import {
  alertsOf,
  type Observed,
} from '../../../../../../services/gateway/console/app/pages/operator/overview/alerts.ts';

const NODE: Api.ShardNode = {
  node: 'shards-1',
  version: '1.0.0',
  uptimeSeconds: 60,
  lease: true,
  draining: false,
  open: 3,
  opening: 0,
  copies: 0,
  bytes: 100,
  memoryLimitBytes: 1_000,
  queued: 0,
  load: 0.1,
  workers: 2,
  error: null,
};
const OTHER: Api.OtherNode = {
  node: 'gateway-1',
  version: '1.0.0',
  uptimeSeconds: 60,
  services: ['gateway'],
  available: true,
};
const LEDGER: Api.Ledger = {
  enabled: true,
  isEmbedded: false,
  cluster: 'mainnet-beta',
  program: 'p',
  authority: 'a',
  lamports: 50_000_000,
  rpc: [],
};
const REQUESTS = { perSecond: 100, p50Ms: 2, p99Ms: 20 };
const FIGURES: Figures = {
  rates: { seconds: 5, queries: REQUESTS, upserts: REQUESTS, requests: { perSecond: 200, errorsPerSecond: 0 } },
  anchors: { pending: 0, oldestPendingSeconds: 0, halted: 0 },
  gateway: { memoryBytes: 1, eventLoopLagP99Ms: 10 },
};
const CALM: Observed = {
  nodes: { shardNodes: [NODE], others: [OTHER], omitted: 0 },
  shards: null,
  halted: [],
  ledger: LEDGER,
  figures: FIGURES,
  levels: { waiting: 0, queuedWrites: 0, unindexed: 0, mismatches: 0 },
};
const UNKNOWN: Observed = { nodes: null, shards: null, halted: [], ledger: null, figures: null, levels: null };

const withNode = (change: Partial<Api.ShardNode>): Partial<Observed> => ({
  nodes: { shardNodes: [NODE, { ...NODE, node: 'shards-2', ...change }], others: [OTHER], omitted: 0 },
});
const withRates = (change: Partial<NonNullable<Figures['rates']>>): Partial<Observed> => ({
  figures: { ...FIGURES, rates: { ...FIGURES.rates!, ...change } },
});
const withLevels = (change: Partial<NonNullable<Observed['levels']>>): Partial<Observed> => ({
  levels: { ...CALM.levels!, ...change },
});
const HALTED = {
  collectionId: 'c',
  collection: 'acme/notes',
  state: 'halted',
  haltedReason: 'two roots',
} as Api.AnchorOverview;

test('a calm service has none, and neither has one of which nothing is known', () => {
  expect(alertsOf(CALM)).toEqual([]);
  expect(alertsOf(UNKNOWN)).toEqual([]);
});

test.each<[string, Partial<Observed>, tone: string, title: string]>([
  ['a silent node', withNode({ error: 'timeout', lease: false }), 'bad', '1 node does not answer: shards-2'],
  ['no lease', withNode({ lease: false }), 'bad', '1 node without a lease: shards-2'],
  ['memory', withNode({ bytes: 860 }), 'waiting', 'Memory is nearly full: shards-2'],
  ['a drained node', withNode({ draining: true, lease: false }), 'waiting', 'shards-2 takes no more shards'],
  ['an upgrade', withNode({ version: '1.1.0' }), 'waiting', 'The nodes run 1.0.0 and 1.1.0'],
  ['lost shards', { shards: { unreachable: 1, unclaimed: 0 } }, 'bad', '1 shard cannot be reached'],
  ['unclaimed shards', { shards: { unreachable: 0, unclaimed: 2 } }, 'waiting', '2 shards have no holder'],
  ['a halt', { halted: [HALTED] }, 'bad', 'Anchoring is halted: contradiction in acme/notes'],
  [
    'errors',
    withRates({ requests: { perSecond: 100, errorsPerSecond: 1.1 } }),
    'bad',
    'More than 1 % of the requests fail',
  ],
  ['slow queries', withRates({ queries: { ...REQUESTS, p99Ms: 1_001 } }), 'waiting', 'Queries are slow'],
  [
    'a root that waits',
    { figures: { ...FIGURES, anchors: { pending: 1, oldestPendingSeconds: 661, halted: 0 } } },
    'waiting',
    'A root has waited 11 minutes for the ledger',
  ],
  [
    'a lagging gateway',
    { figures: { ...FIGURES, gateway: { memoryBytes: 1, eventLoopLagP99Ms: 501 } } },
    'waiting',
    'The gateway has too little CPU',
  ],
  ['dropped copies', withLevels({ mismatches: 2 }), 'bad', '2 copies of shards differed from the original'],
  ['queued writes', withLevels({ queuedWrites: 1_001 }), 'waiting', '1,001 writes wait for a shard'],
  ['an index that is behind', withLevels({ unindexed: 200_001 }), 'waiting', 'The index is behind'],
  ['a low balance', { ledger: { ...LEDGER, lamports: 49_000_000 } }, 'waiting', 'Ledger balance is low: 0.049 SOL'],
  ['an empty balance', { ledger: { ...LEDGER, lamports: 5_999_999 } }, 'bad', 'Ledger balance is low: 0.006 SOL'],
  ['a silent ledger', { ledger: { ...LEDGER, lamports: null } }, 'waiting', 'The ledger does not answer'],
  ['no ledger', { ledger: { ...LEDGER, enabled: false } }, 'waiting', 'The ledger is off'],
])('%s is one', (_, change, tone, title) => {
  expect(alertsOf({ ...CALM, ...change })).toMatchObject([{ tone, title }]);
});

test('what does not work comes before what soon may not', () => {
  const observed = { ...CALM, ...withNode({ draining: true }), halted: [HALTED] };
  expect(alertsOf(observed).map(({ tone }) => tone)).toEqual(['bad', 'waiting']);
});

test('figures at their limits are none', () => {
  const atLimits: Observed = {
    ...CALM,
    ...withNode({ bytes: 850 }),
    figures: {
      rates: {
        ...FIGURES.rates!,
        queries: { ...REQUESTS, p99Ms: 1_000 },
        requests: { perSecond: 100, errorsPerSecond: 1 },
      },
      anchors: { pending: 1, oldestPendingSeconds: 600, halted: 0 },
      gateway: { memoryBytes: 1, eventLoopLagP99Ms: 500 },
    },
    levels: { waiting: 9, queuedWrites: 1_000, unindexed: 200_000, mismatches: 0 },
  };
  expect(alertsOf(atLimits)).toEqual([]);
});
