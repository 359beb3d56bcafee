import { Command } from 'commander';
import type { Api } from '../../client/index.ts';
import { examples } from '../option-values.ts';
import { bytesText, timeText } from '../output/quantities.ts';
import { tableLines } from '../output/table.ts';
import { inSession } from '../session.ts';

const SHARD_NODE = ['shard node', 'state', 'shards', 'opening', 'copies', 'memory', 'limit', 'queued', 'busy'];
const OTHER_NODE = ['other node', 'state', 'services', 'version', 'uptime'];

export const nodesCommand = (): Command =>
  new Command('nodes')
    .description("list the service's nodes: lease, shards, memory, load, version")
    .addHelpText('after', examples('provec nodes'))
    .action(
      inSession(async (session) => {
        const nodes = await (await session.operator()).listNodes(session.request);
        await session.print(nodes, () => nodeLines(nodes));
      }),
    );

/** Returns a table of shard nodes, then one of the others. */
export const nodeLines = ({ shardNodes, others, omitted }: Api.ListNodesResult): string[] => [
  ...tableLines([...SHARD_NODE, 'version', 'uptime'], shardNodes.map(shardNodeRow)),
  ...(others.length === 0 ? [] : ['', ...tableLines(OTHER_NODE, others.map(otherNodeRow))]),
  ...(omitted === 0 ? [] : ['', `${omitted} more nodes are not listed.`]),
];

const shardNodeRow = (row: Api.ShardNode): unknown[] => [
  ...[row.node, stateOf(row), row.open, row.opening, row.copies],
  ...[bytesText(row.bytes), bytesText(row.memoryLimitBytes), row.queued],
  row.load === null ? null : `${row.load.toFixed(2)} of ${row.workers}`,
  ...[row.version, timeText(row.uptimeSeconds)],
];

const otherNodeRow = (row: Api.OtherNode): unknown[] => [
  ...[row.node, row.available ? 'available' : 'unreachable', row.services.join(', ')],
  ...[row.version, timeText(row.uptimeSeconds)],
];

function stateOf({ error, lease, draining }: Api.ShardNode): string {
  if (error !== null) return error;
  if (!lease) return 'no lease';
  return draining ? 'draining' : 'serving';
}
