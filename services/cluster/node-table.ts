import type { Caller } from '../../contracts/actions/call.ts';
import type { ClusterNodes, OtherNodeRow, ShardNodeRow } from '../../contracts/actions/cluster.ts';
import type { Clock } from '../../lib/time/clock.ts';
import type { LeaseStore } from '../../store/owners.ts';
import { askNodes } from './node-calls.ts';

const NODES_MAX = 1_000;

/** A node as this broker knows it. */
export interface KnownNode {
  node: string;
  available: boolean;
  services: string[];
  version: string | null;
  /** On the wall clock of that node. */
  startedAtMs: number | null;
}

interface NodeTableParts {
  caller: Caller;
  leases: Pick<LeaseStore, 'list'>;
  clock: Pick<Clock, 'wallMs'>;
  known(): KnownNode[];
  /** Whether this is the only process, which needs no lease. */
  isAlone: boolean;
}

/** Lists all nodes, shard nodes first, including unreachable ones with a lease. */
export async function nodeTable({ caller, leases, clock, known, isAlone }: NodeTableParts): Promise<ClusterNodes> {
  const rows = new Map((await leases.list()).map((lease) => [lease.node, lease]));
  const nodes = new Map(known().map((one) => [one.node, one]));
  const shardNames = [...new Set([...rows.keys(), ...[...nodes.values()].filter(holdsShards).map(({ node }) => node)])];
  // An unavailable node without services was a console, or has not announced its services yet.
  const isOfUse = ({ available, services }: KnownNode): boolean => available || services.length > 0;
  const otherNodes = [...nodes.values()].filter((one) => isOfUse(one) && !shardNames.includes(one.node));
  const listed = shardNames.sort().slice(0, NODES_MAX);
  const stats = await askNodes(
    caller,
    'shards.stats',
    listed.filter((node) => nodes.get(node)?.available),
  );
  const uptime = (one: KnownNode | undefined): number | null =>
    one?.available && one.startedAtMs !== null
      ? Math.max(0, Math.round((clock.wallMs() - one.startedAtMs) / 1_000))
      : null;
  const shardNodes = listed.map((node): ShardNodeRow => {
    const lease = rows.get(node);
    const { answer, error } = stats.get(node) ?? { answer: null, error: 'out of reach' };
    return {
      node,
      lease: isAlone || lease !== undefined,
      draining: lease?.draining ?? false,
      open: answer?.open ?? null,
      opening: answer?.opening ?? null,
      copies: answer?.copies ?? null,
      // Includes copies, as the memory limit does.
      bytes: answer ? answer.bytes + answer.copiedBytes : (lease?.use?.bytes ?? null),
      memoryLimitBytes: answer?.memoryLimitBytes ?? lease?.use?.memoryLimitBytes ?? null,
      queued: answer?.queuedRequests ?? null,
      load: lease?.use?.load ?? null,
      workers: answer?.workers ?? lease?.use?.workers ?? null,
      version: nodes.get(node)?.version ?? null,
      uptimeSeconds: uptime(nodes.get(node)),
      error,
    };
  });
  const others = otherNodes
    .sort((a, b) => (a.node < b.node ? -1 : 1))
    .slice(0, NODES_MAX)
    .map(({ startedAtMs: _, ...one }): OtherNodeRow => ({ ...one, uptimeSeconds: uptime(nodes.get(one.node)) }));
  const omitted = shardNames.length + otherNodes.length - shardNodes.length - others.length;
  return { shardNodes, others, omitted };
}

function holdsShards({ services }: KnownNode): boolean {
  return services.includes('shards');
}
