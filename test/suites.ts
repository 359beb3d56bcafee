/**
 * Which tests are the gate's and which the long suites'. Every `*.test.ts` is in the gate unless it
 * stands in `NOT_IN_GATE`; a file may belong to both, and does then in the long suite what is
 * random, timed or large (`support/effort.ts`). Entries are paths from the root of the project,
 * whole or from their beginning.
 */

/**
 * Run by `npm run test:long -- <name>`; docs/testing.md says what each shows, how long it takes,
 * and how its last run went.
 */
export const LONG_SUITES: Readonly<Record<string, readonly string[]>> = {
  model: ['test/model/'],
  recall: ['test/unit/search-', 'test/defects/short-filtered-query.'],
  crash: [
    'test/process/killed-at-work.',
    'test/api/restart.',
    'test/process/crash-loop.',
    'test/process/damaged-folder.',
    'test/process/reseal-killed.',
    'test/ledger/killed-ledger.',
    'test/unit/store-',
  ],
  unit: ['test/unit/'],
  service: ['test/api/', 'test/attacks/', 'test/defects/', 'test/ledger/', 'test/process/', 'test/contract/sqlite-'],
  security: ['test/security/', 'test/api/operations.'],
  concurrency: ['test/concurrency/', 'test/overload/'],
  cluster: ['test/cluster/', 'test/process/laptop-cluster.'],
  transport: ['test/transport/'],
  mongo: ['test/contract/mongo-', 'test/unit/mongo-'],
  chaos: ['test/chaos/'],
  unavailability: ['test/unavailability/'],
  simulation: ['test/simulation/'],
  proofs: ['test/proofs/'],
  scale: ['test/scale/', 'test/scale-model/'],
  deployment: ['test/deployment/'],
  endurance: ['test/endurance/'],
  bench: ['test/bench/'],
};

/** As part of a regular expression. */
export const patternOf = (path: string): string => path.replaceAll('.', '\\.');

/** Why each is not: `docs/testing.md`. */
export const NOT_IN_GATE: readonly string[] = [
  'test/bench/',
  'test/chaos/',
  'test/cluster/',
  'test/contract/mongo-',
  'test/deployment/image.',
  'test/deployment/redis-',
  'test/deployment/rendered-',
  'test/endurance/',
  'test/ledger/killed-ledger.',
  'test/overload/bounded-memory.',
  'test/overload/full-queues.',
  'test/overload/noisy-neighbour.',
  'test/overload/steady-memory.',
  'test/process/console.',
  'test/process/crash-loop.',
  'test/process/damaged-folder.',
  'test/process/full-disk.',
  'test/process/killed-at-work.',
  'test/process/laptop-cluster.',
  'test/process/memory-guard.',
  'test/process/missing-ledger-package.',
  'test/process/reseal-killed.',
  'test/proofs/',
  'test/scale-model/',
  'test/scale/',
  'test/transport/',
  'test/unavailability/',
  'test/unit/anchoring-halt.',
  'test/unit/anchoring-unreachable.',
  'test/unit/data-dir.',
  'test/unit/gateway-bodies.',
  'test/unit/metering-queries.',
  'test/unit/mongo-',
  'test/unit/search-debian.',
  'test/unit/search-recall.',
  'test/unit/shard-checkpointer.',
  'test/unit/shard-host-garbage.',
  'test/unit/shard-host-queries.',
  'test/unit/shard-memory.',
  'test/unit/shard-node-memory.',
  'test/unit/shard-reader.',
  'test/unit/shard-recomputation.',
  'test/unit/store-damage.',
  'test/unit/store-full-disk.',
];
