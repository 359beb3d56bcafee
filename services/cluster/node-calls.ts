import pLimit from 'p-limit';
import { type Actions, type Caller, call } from '../../contracts/actions/call.ts';
import type { OpenShardStats } from '../../contracts/actions/shards.ts';
import { isProvecError } from '../../lib/errors.ts';

const ASK_TIMEOUT_MS = 3_000;
const ASKED_AT_ONCE = 16;

/** A node's answer, or a short error. */
export type NodeAnswer<T> = { answer: T; error: null } | { answer: null; error: string };

type StatsAction = 'shards.stats' | 'shards.held' | 'verification.list';

/** Asks nodes for their stats, a few at a time. Errors affect only a node's own row. */
export async function askNodes<Q extends StatsAction>(
  caller: Caller,
  question: Q,
  nodes: Iterable<string>,
): Promise<Map<string, NodeAnswer<Actions[Q]['result']>>> {
  const ask = async (node: string): Promise<[string, NodeAnswer<Actions[Q]['result']>]> => {
    try {
      const answer = await call(caller, question, {}, { nodeID: node, timeout: ASK_TIMEOUT_MS, retries: 0 });
      return [node, { answer, error: null }];
    } catch (error) {
      return [node, { answer: null, error: shortError(error) }];
    }
  };
  return new Map(await pLimit(ASKED_AT_ONCE).map(new Set(nodes), ask));
}

/** Returns the open shards of nodes, and the nodes that did not respond. */
export async function openShardsOn(
  caller: Caller,
  nodes: Iterable<string>,
): Promise<{ held: Map<string, OpenShardStats & { node: string }>; unreachable: Map<string, string> }> {
  const held = new Map<string, OpenShardStats & { node: string }>();
  const unreachable = new Map<string, string>();
  for (const [node, { answer, error }] of await askNodes(caller, 'shards.held', nodes)) {
    if (answer === null) unreachable.set(node, error);
    else for (const shard of answer) held.set(`${node} ${shard.shard}`, { ...shard, node });
  }
  return { held, unreachable };
}

/** Describes an error for operators in a few words. The table shows the node's name next to it. */
export function shortError(error: unknown): string {
  if (isProvecError(error)) return error.message;
  switch (error instanceof Error ? error.name : '') {
    case 'ServiceNotFoundError':
    case 'ServiceNotAvailableError':
    case 'BrokerDisconnectedError':
      return 'out of reach';
    case 'RequestTimeoutError':
      return 'no answer in time';
    case 'RequestRejectedError':
      return 'disconnected during the call';
    default:
      return 'failed; see its log';
  }
}
