/**
 * Assigns tests to the gate and to the long suites. Every `*.test.ts` is in the gate unless
 * `NOT_IN_GATE` lists it. A file may belong to both; in the long suite it then also runs its
 * random, timed or large cases (`support/effort.ts`). Entries are paths from the project root, or
 * their beginnings.
 */

/**
 * Suites of `npm run test:long -- <name>`. docs/testing.md describes what each shows, its duration,
 * and the outcome of its last run.
 */
export const LONG_SUITES: Readonly<Record<string, readonly string[]>> = {
  model: ['test/simulation/model/'],
  recall: ['test/unit/services/shards/engine/search-', 'test/api/short-filtered-query.'],
  crash: [
    'test/api/restart.',
    'test/faults/disk/damaged-folder.',
    'test/faults/ledger/killed-ledger.',
    'test/faults/process/crash-loop.',
    'test/faults/process/killed-at-work.',
    'test/faults/process/reseal-killed.',
    'test/unit/store/sqlite/store-',
  ],
  unit: ['test/unit/', 'test/contract/memory-engine.'],
  service: ['test/api/', 'test/faults/', 'test/process/', 'test/contract/sqlite-'],
  security: ['test/api/security/', 'test/api/operations.'],
  concurrency: ['test/load/concurrency/', 'test/load/overload/'],
  cluster: ['test/cluster/nodes/', 'test/process/laptop-cluster.'],
  transport: ['test/cluster/transport/'],
  mongo: ['test/contract/mongo-', 'test/unit/store/mongo/'],
  chaos: ['test/cluster/chaos/'],
  unavailability: ['test/cluster/unavailability/'],
  simulation: ['test/simulation/ownership/'],
  proofs: ['test/proofs/'],
  python: ['test/python/'],
  scale: ['test/load/scale/', 'test/simulation/capacity/'],
  deployment: ['test/deployment/'],
  linters: ['test/linters/'],
  'first-hour': ['test/docs/first-hour.'],
  clients: ['test/clients/'],
  endurance: ['test/load/endurance/'],
  bench: ['test/load/bench/'],
};

/** Escapes a path for a regular expression. */
export const patternOf = (path: string): string => path.replaceAll('.', '\\.');

/** docs/testing.md gives the reason for each. */
export const NOT_IN_GATE: readonly string[] = [
  'test/api/naive-agreement.',
  'test/api/security/worst-input.',
  'test/clients/',
  'test/cluster/',
  'test/contract/mongo-',
  'test/deployment/image.',
  'test/deployment/redis-',
  'test/deployment/rendered-',
  'test/docs/first-hour.',
  'test/faults/disk/damaged-folder.',
  'test/faults/disk/full-disk.',
  'test/faults/ledger/killed-ledger.',
  'test/faults/process/crash-loop.',
  'test/faults/process/killed-at-work.',
  'test/faults/process/memory-guard.',
  'test/faults/process/missing-ledger-package.',
  'test/faults/process/reseal-killed.',
  'test/linters/',
  'test/faults/network/stranger-on-the-wire.',
  'test/load/bench/',
  'test/load/endurance/',
  'test/load/overload/bounded-memory.',
  'test/load/overload/full-queues.',
  'test/load/overload/noisy-neighbour.',
  'test/load/overload/other-accounts.',
  'test/load/overload/steady-memory.',
  'test/load/overload/unread-answers.',
  'test/load/scale/',
  'test/process/console.',
  'test/process/laptop-cluster.',
  'test/proofs/',
  'test/python/',
  'test/simulation/capacity/',
  'test/unit/process/data-dir.',
  'test/unit/transport/lost-calls.',
  'test/unit/store/mongo/',
  'test/unit/store/sqlite/store-damage.',
  'test/unit/store/sqlite/store-full-disk.',
  'test/unit/services/anchoring/halt.',
  'test/unit/services/anchoring/outbox/crash.',
  'test/unit/services/anchoring/unreachable.',
  'test/unit/services/collections/reads/shard-reader.',
  'test/unit/services/gateway/bodies/bodies.',
  'test/unit/services/metering/queries.',
  'test/unit/services/shards/engine/memory.',
  'test/unit/services/shards/engine/search-debian.',
  'test/unit/services/shards/engine/search-large.',
  'test/unit/services/shards/engine/search-recall.',
  'test/unit/services/shards/shard-node-memory.',
  'test/unit/services/shards/shard/checkpointer.',
  'test/unit/services/shards/verify/recomputation.',
  'test/unit/services/shards/worker/shard-host-garbage.',
  'test/unit/services/shards/worker/shard-host-queries.',
];
