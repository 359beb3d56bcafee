import type { ValidationRule } from 'fastest-validator';
import type { Context, ServiceBroker, ServiceSchema } from 'moleculer';
import { type Actions, call } from '../../contracts/actions/call.ts';
import { type ClusterActions, REFERENCE_CHARS, TABLE_PAGE } from '../../contracts/actions/cluster.ts';
import { auditedCall } from '../../mixins/audit/audited-call.ts';
import { isShared } from '../../process/node-home.ts';
import type { Runtime } from '../../process/runtime.ts';
import { backUp } from './backup.ts';
import { BackupFolder } from './backup-folder.ts';
import { ClusterOperations } from './cluster-operations.ts';
import { ReferenceResolver } from './collection-reference.ts';
import { anchorTable, listCollections } from './collection-table.ts';
import { type KnownNode, nodeTable } from './node-table.ts';
import { recordRestore } from './restored-backup.ts';
import { shardTable } from './shard-table.ts';
import { listVerifications } from './verification-table.ts';

type Params<A extends keyof ClusterActions> = ClusterActions[A]['params'];
type Result<A extends keyof ClusterActions> = Promise<Actions[A]['result']>;

/** A node in Moleculer's registry, whose types omit it. */
interface RegisteredNode {
  id: string;
  available: boolean;
  services?: { name: string }[];
  metadata?: { version?: unknown; startedAtMs?: unknown };
}

/** Time in ms that an overview of the ledger waits for the ledger itself. */
const BALANCE_TIMEOUT_MS = 3_000;

async function balanceOf(broker: ServiceBroker): Promise<number | null> {
  try {
    return (await call(broker, 'anchoring.balance', {}, { timeout: BALANCE_TIMEOUT_MS })).lamports;
  } catch {
    // The overview says what is known; null says that the balance is not.
    return null;
  }
}

function knownNodes(broker: ServiceBroker): KnownNode[] {
  const nodes = broker.registry.getNodeList({
    onlyAvailable: false,
    withServices: true,
  }) as unknown as RegisteredNode[];
  return nodes.map(({ id, available, services = [], metadata }) => ({
    node: id,
    available,
    services: [...new Set(services.map(({ name }) => name).filter((name) => !name.startsWith('$')))].sort(),
    version: typeof metadata?.version === 'string' ? metadata.version : null,
    startedAtMs: typeof metadata?.startedAtMs === 'number' ? metadata.startedAtMs : null,
  }));
}

function nodesWith(broker: ServiceBroker, service: string): string[] {
  const able = knownNodes(broker).filter(({ available, services }) => available && services.includes(service));
  return able.map(({ node }) => node);
}

const REFERENCE = { type: 'string', ...REFERENCE_CHARS } as const;
const OPTIONAL_REFERENCE = { ...REFERENCE, optional: true } as const;
const SLICE = {
  offset: { type: 'number', integer: true, min: 0, max: 1_000_000_000, optional: true },
  limit: { type: 'number', integer: true, min: 1, max: TABLE_PAGE.maximum, optional: true },
} as const;

/** Shows the cluster to operators and carries out their commands. Its instances are stateless. */
export default function clusterService(runtime: Runtime): ServiceSchema {
  const { config, store, clock } = runtime;
  const references = new ReferenceResolver(store.catalog);
  const backups = new BackupFolder(config.backupDir);
  let broker: ServiceBroker;
  let steering: ClusterOperations;
  const shardNodes = (): string[] => nodesWith(broker, 'shards');

  /** Defines an action without a timeout. The calls that it makes have timeouts. */
  function checkedAction<A extends keyof ClusterActions>(
    checks: Record<keyof Params<A>, ValidationRule>,
    handler: (params: Params<A>, ctx: Context<Params<A>>) => Result<A>,
  ) {
    const answer = (ctx: Context<Params<A>>) => auditedCall<A>(runtime, ctx, () => handler(ctx.params, ctx));
    return { timeout: 0, params: { $$strict: true, ...checks }, handler: answer };
  }

  return {
    name: 'cluster',

    actions: {
      nodes: checkedAction<'cluster.nodes'>({}, () =>
        nodeTable({
          caller: broker,
          leases: store.leases,
          clock,
          known: () => knownNodes(broker),
          isAlone: !isShared(config),
        }),
      ),
      shards: checkedAction<'cluster.shards'>({ collection: OPTIONAL_REFERENCE, ...SLICE }, async (params) => {
        const collection = params.collection === undefined ? null : await references.collection(params.collection);
        const onlyNode = isShared(config) ? null : broker.nodeID;
        return shardTable(broker, store, { collection, onlyNode }, params);
      }),
      collections: checkedAction<'cluster.collections'>(SLICE, (params) =>
        listCollections(broker, store, shardNodes(), params),
      ),
      verifications: checkedAction<'cluster.verifications'>(SLICE, (params) =>
        listVerifications(broker, nodesWith(broker, 'verification'), params),
      ),
      anchors: checkedAction<'cluster.anchors'>(
        { standing: { type: 'enum', values: ['due', 'halted'], optional: true }, ...SLICE },
        (params) => anchorTable(store, clock, params.standing ?? null, params),
      ),
      move: checkedAction<'cluster.move'>({ shard: REFERENCE, node: REFERENCE }, ({ shard, node }) =>
        steering.move(shard, node),
      ),
      drain: checkedAction<'cluster.drain'>({ node: REFERENCE }, ({ node }) => steering.drain(node)),
      verify: checkedAction<'cluster.verify'>(
        { account: REFERENCE, collection: REFERENCE },
        ({ account, collection }) => steering.verify(account, collection),
      ),
      ledger: checkedAction<'cluster.ledger'>({ collection: OPTIONAL_REFERENCE }, async ({ collection }) => {
        const [info, lamports] = await Promise.all([call(broker, 'anchoring.info', {}), balanceOf(broker)]);
        if (collection === undefined) return { ...info, lamports, account: null };
        const { id } = await references.collection(collection);
        const account = await call(broker, 'anchoring.address', { collectionId: id });
        return { ...info, lamports, account: account && { collectionId: id, ...account } };
      }),
      backup: checkedAction<'cluster.backup'>(
        { folder: { ...REFERENCE, max: 4_096 }, withoutSecrets: { type: 'boolean', optional: true } },
        ({ folder, withoutSecrets }) => backUp({ config, store, clock }, folder, withoutSecrets),
      ),
      startBackup: checkedAction<'cluster.startBackup'>(
        { name: { ...REFERENCE, max: 64 }, withoutSecrets: { type: 'boolean', optional: true } },
        ({ name, ...options }, ctx) =>
          backups.start(name, (folder) => call(ctx, 'cluster.backup', { folder, ...options }, { timeout: 0 })),
      ),
      backups: checkedAction<'cluster.backups'>(SLICE, (params) => backups.page(params)),
      resume: checkedAction<'cluster.resume'>({ collection: REFERENCE }, ({ collection }) =>
        steering.resume(collection),
      ),
    },

    /** A store with tools of its own for backups shows no restore. */
    started: async () => {
      if (store.backup !== null) await recordRestore(runtime, broker.nodeID);
    },

    created() {
      broker = this.broker;
      steering = new ClusterOperations({
        caller: broker,
        store,
        references,
        isThere: (node) => shardNodes().includes(node),
      });
    },
  };
}
