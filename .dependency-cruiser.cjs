/** House rules on who may import whom; run by `npm run check`. */
const service = '^services/([^/]+)/';

/** What each room may import. `provec.ts`, `start.ts` and `scripts/` put the rooms together. */
const rooms = {
  lib: [],
  store: ['lib'],
  contracts: ['lib', 'store'],
  process: ['lib', 'store', 'contracts'],
  transport: ['lib', 'store', 'contracts', 'process'],
  mixins: ['lib', 'store', 'contracts', 'process', 'transport'],
  repl: ['lib', 'store', 'contracts'],
  services: ['lib', 'store', 'contracts', 'process', 'transport', 'mixins'],
};
const roomRules = Object.entries(rooms).map(([room, allowed]) => {
  const closed = Object.keys(rooms).filter((other) => other !== room && !allowed.includes(other));
  return {
    name: `${room}-room`,
    severity: 'error',
    from: { path: `^${room}/` },
    to: { path: `^(${closed.join('|') || '-'})/|^(start|provec)\\.ts$` },
  };
});
module.exports = {
  forbidden: [
    ...roomRules,
    { name: 'no-cycles', severity: 'error', from: {}, to: { circular: true } },
    {
      name: 'services-apart',
      comment: "A service never reaches into another service's folder: it calls actions, or both use another room.",
      severity: 'error',
      from: { path: service },
      to: { path: service, pathNot: '^services/$1/' },
    },
    {
      name: 'engine-knows-no-action',
      comment: 'A shard is a state machine: it does not know who asks.',
      severity: 'error',
      from: { path: '^services/shards/engine/' },
      to: { path: '^contracts/' },
    },
    {
      name: 'engine-behind-its-port',
      comment: 'Everything outside the engine knows its port alone.',
      severity: 'error',
      from: { path: '^(services|scripts)/', pathNot: '^services/shards/(engine/|worker/(main|pool)\\.ts$)' },
      to: { path: '^services/shards/engine/', pathNot: '^services/shards/engine/port\\.ts$' },
    },
    {
      name: 'one-engine-maker',
      comment: 'A worker thread starts with an engine, and the pool keeps the code of its kernel loaded.',
      severity: 'error',
      from: { path: '^services/shards/worker/(main|pool)\\.ts$' },
      to: {
        path: '^services/shards/engine/',
        pathNot: '^services/shards/engine/(port|memory-engine|kernel/similarity-kernel)\\.ts$',
      },
    },
    {
      name: 'domain-knows-no-broker',
      comment: 'Only services and their handlers, their router, mixins and the composition know Moleculer.',
      severity: 'error',
      from: {
        path: '^(services|lib|store|process)/',
        pathNot: '\\.service\\.ts$|^services/\\w+/\\w+-handlers\\.ts$|^services/gateway/router\\.ts$',
      },
      to: { path: 'node_modules/moleculer' },
    },
    {
      name: 'one-web-framework',
      comment: 'moleculer-web is known to the router of the gateway alone.',
      severity: 'error',
      from: {
        path: '^(services|lib|store|contracts|process|transport|mixins|repl)/',
        pathNot: '^services/gateway/router\\.ts$',
      },
      to: { path: 'node_modules/moleculer-web/' },
    },
    {
      name: 'one-agent-protocol',
      comment: 'The SDK of the Model Context Protocol is known to one file, which is loaded when an agent comes.',
      severity: 'error',
      from: {
        path: '^(services|lib|store|contracts|process|transport|mixins|repl|cli|client)/',
        pathNot: '^services/gateway/mcp/message-handler\\.ts$',
      },
      to: { path: 'node_modules/@modelcontextprotocol/' },
    },
    {
      name: 'memory-knows-no-cluster',
      comment: 'What a node keeps in memory does not depend on there being other nodes: the cluster grants its claims.',
      severity: 'error',
      from: { path: '^services/shards/memory/' },
      to: { path: '^services/shards/cluster/' },
    },
    {
      name: 'dialects-register',
      comment: 'A dialect builds on the gateway and registers with it: only what puts the gateway together names one.',
      severity: 'error',
      from: {
        path: '^services/gateway/',
        pathNot: '^services/gateway/((pinecone|recall)/|(gateway\\.service|dialects|body-thread)\\.ts$)',
      },
      to: { path: '^services/gateway/(pinecone|recall)/' },
    },
    {
      name: 'domain-knows-no-database',
      comment: 'Databases are known to their adapter of the storage port alone.',
      severity: 'error',
      from: { pathNot: '^store/mongo/|^cli/doctor/(mongo|redis)\\.ts$' },
      to: { path: 'node_modules/(mongodb|ioredis)/' },
    },
    {
      name: 'client-stands-alone',
      comment: 'The client is a package of its own: no server code, nothing of Node, @noble/hashes alone.',
      severity: 'error',
      from: { path: '^client/', pathNot: '^client/cli/' },
      to: { pathNot: '^client/(?!cli/)|node_modules/@noble/hashes/' },
    },
    {
      name: 'command-is-a-client',
      comment:
        'The command knows the service by its client alone, and nothing but commander and the readers of sources besides Node.',
      severity: 'error',
      from: { path: '^cli/', pathNot: '^cli/doctor/(mongo|redis)\\.ts$' },
      to: {
        pathNot: '^(cli|client)/|node_modules/(commander|hyparquet|hyparquet-writer|@types/pg|pg)/',
        dependencyTypesNot: ['core'],
      },
    },
    {
      name: 'sources-read-themselves',
      comment: 'Only the adapter of a source, or the writer of Parquet, imports its driver.',
      severity: 'error',
      from: { path: '^cli/', pathNot: '^cli/(sources/(parquet|pgvector(-shape)?)|output/parquet-export)\\.ts$' },
      to: { path: 'node_modules/(hyparquet|hyparquet-writer|@types/pg|pg)/' },
    },
    {
      name: 'sources-apart',
      comment: 'An adapter of a source knows its port, never the import that uses it or another adapter.',
      severity: 'error',
      from: { path: '^cli/sources/' },
      to: { path: '^cli/(moving|manifest|commands)/' },
    },
    {
      name: 'doctor-asks-stores',
      comment: 'The doctor asks MongoDB and Redis themselves, whose settings the service does not pass on.',
      severity: 'error',
      from: { path: '^cli/doctor/(mongo|redis)\\.ts$' },
      to: { pathNot: '^cli/doctor/|node_modules/(mongodb|ioredis)/', dependencyTypesNot: ['core'] },
    },
    {
      name: 'command-on-top',
      comment: 'Nothing imports the command.',
      severity: 'error',
      from: { pathNot: '^(cli|test)/' },
      to: { path: '^cli/' },
    },
    {
      name: 'server-hashes-itself',
      comment:
        'Server and client share how an account and JSON are read, and nothing else: tests hold their hashes against each other.',
      severity: 'error',
      from: { pathNot: '^(cli|client|test|services/gateway/console/app)/' },
      to: { path: '^client/', pathNot: '^client/verify/(json-text|token-metadata|verification-error)\\.ts$' },
    },
    {
      name: 'server-bounds-json',
      comment: 'The parser itself takes any number of escaped keys; what the server parses has a bound.',
      severity: 'error',
      from: { pathNot: '^(cli|client|test|services/gateway/console/app)/|^lib/json/text\\.ts$' },
      to: { path: '^client/verify/json-text\\.ts$' },
    },
    {
      name: 'console-is-a-client',
      comment: 'Pages run in a browser: they know the service by its client alone, and nothing of the server or Node.',
      severity: 'error',
      from: { path: '^services/gateway/console/app/' },
      to: { pathNot: '^services/gateway/console/app/|^client/(?!cli/)|node_modules/(preact|htm|uplot|hyparquet)/' },
    },
    {
      name: 'console-is-read',
      comment: 'The server reads the pages of the console as text; it runs none of them.',
      severity: 'error',
      from: { pathNot: '^services/gateway/console/app/|^test/' },
      to: { path: '^services/gateway/console/app/' },
    },
    {
      name: 'verifier-stands-alone',
      comment: 'The command line around the client needs Node, and nothing else.',
      severity: 'error',
      from: { path: '^client/cli/' },
      to: { pathNot: '^client/', dependencyTypesNot: ['core'] },
    },
    {
      name: 'development-ledger-alone',
      comment: 'The embedded ledger is for development: its process is started, never imported, by the product.',
      severity: 'error',
      from: { pathNot: '^services/devledger/|^provec' },
      to: { path: '^services/devledger/' },
    },
  ],
  options: {
    parser: 'swc',
    doNotFollow: { path: 'node_modules' },
    // What `npm pack` of the client builds.
    exclude: { path: '^client/dist/' },
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'node', 'default'],
      extensions: ['.ts', '.js', '.mjs', '.cjs', '.json'],
    },
  },
};
