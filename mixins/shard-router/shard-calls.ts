/**
 * Routes calls of the shards service to the node that holds the shard. Callers name only the shard.
 *
 * Ids of state that one node keeps between calls (a recomputation's session, the rest of an answer)
 * are prefixed with the node's name. Eventual reads go to the nodes that hold or follow the shard,
 * starting with a random one, until one answers, and then to the current holder.
 */
import { Errors, type Middleware, type ServiceBroker, type ServiceSchema } from 'moleculer';
import { INTERNAL_LIMITS } from '../../lib/limits.ts';
import { type ShardKey, shardKey } from '../../lib/shard/key.ts';
import { ShardMoved } from '../../lib/shard/moved.ts';
import { isShardUnavailable } from '../../lib/shard/shard-unavailable.ts';
import type { ShardSpec } from '../../lib/shard/spec.ts';
import { SYSTEM_CLOCK } from '../../lib/time/clock.ts';
import { SYSTEM_TIMERS } from '../../lib/time/timers.ts';
import type { OwnerStore } from '../../store/owners.ts';
import { respondsToPing } from '../../transport/lost-calls.ts';
import { isUnsent } from '../../transport/undelivered.ts';
import { type RoutableShardNode, shardNodesOf } from './shard-nodes.ts';
import { type Loss, ShardRouter } from './shard-router.ts';
import { NodeUnresponsive, UnresponsiveNodes } from './unresponsive-nodes.ts';

/** Calls that change a shard. They are not repeated if their outcome is unknown. */
const WRITES = new Set(['shards.upsert', 'shards.delete', 'shards.change', 'shards.resume']);
/** Calls that are repeated if their outcome is unknown. */
const RETRYABLE_CALLS = new Set([
  ...['shards.query', 'shards.queries', 'shards.fetch', 'shards.next', 'shards.leave', 'shards.read'],
  ...['shards.previewUpdates', 'shards.metadataBytes', 'shards.countNew', 'shards.prove'],
  ...[
    'shards.head',
    'shards.memory',
    'shards.headAt',
    'shards.recompute',
    'shards.extend',
    'shards.keep',
    'shards.release',
  ],
  'shards.stats',
]);
/** The field with which a call continues an earlier one. */
const CONTINUATION_FIELDS: Record<string, 'session' | 'rest'> = {
  ...{ 'shards.recompute': 'session', 'shards.extend': 'session' },
  ...{ 'shards.keep': 'session', 'shards.release': 'session' },
  ...{ 'shards.query': 'rest', 'shards.queries': 'rest', 'shards.fetch': 'rest', 'shards.read': 'rest' },
  ...{ 'shards.next': 'rest', 'shards.leave': 'rest' },
};
/** Moleculer's errors that leave the outcome of a call unknown. */
const OUTCOME_UNKNOWN = new Set(['RequestRejectedError', 'RequestTimeoutError', 'BrokerDisconnectedError']);
/** Longest wait for a copy before trying the next one, or the holder. */
const COPY_MAX_MS = 2_000;
/** Broadcast by a shard node that found another one dead: `{ node }`. */
export const NODE_DEAD = 'shards.nodeDead';

/** Whether the call only reads, so it may be repeated if its answer is lost. */
export const isShardRead = (action: string): boolean => RETRYABLE_CALLS.has(action);

interface CallOptions {
  nodeID?: string;
  timeout?: number;
  [name: string]: unknown;
}
/** The next handler of a middleware. Moleculer's web gateway passes an action object. */
export type Call = (action: unknown, params?: unknown, options?: CallOptions) => Promise<unknown>;

/** A call to the shards service. */
interface ShardCall {
  next: Call;
  action: string;
  params: unknown;
  options: CallOptions;
}

interface ShardParams {
  shard: ShardSpec;
  waitMs?: number;
  openMaxMs?: number;
  eventual?: boolean;
}

export class ShardCalls {
  readonly #router: ShardRouter;
  readonly #unresponsive: UnresponsiveNodes;
  /** Set when the broker is created, before any call. */
  #broker!: ServiceBroker;

  constructor(owners: Pick<OwnerStore, 'get'>) {
    this.#router = new ShardRouter({
      owners,
      nodes: () => this.#nodes(),
      lossOf,
      clock: SYSTEM_CLOCK,
      timers: SYSTEM_TIMERS,
    });
    this.#unresponsive = new UnresponsiveNodes({
      timers: SYSTEM_TIMERS,
      answers: (node, maxMs) => respondsToPing(this.#broker, node, maxMs),
      isThere: (node) => this.nodes().includes(node),
    });
  }

  /** Returns the reachable nodes with a shards service, including this one. */
  nodes(): string[] {
    return this.#nodes().map(({ node }) => node);
  }

  #nodes(): RoutableShardNode[] {
    return this.#broker ? shardNodesOf(this.#broker) : [];
  }

  readonly middleware: Middleware = {
    name: 'ShardCalls',
    created: (broker: ServiceBroker) => {
      this.#broker = broker;
    },
    stopped: () => this.#unresponsive.stop(),
    call: (next: Call): Call => {
      return (action, params, options = {}) => {
        if (typeof action !== 'string' || !action.startsWith('shards.')) return next(action, params, options);
        const asked = { next, action, params, options };
        if (options.nodeID !== undefined) return this.#toNode(asked, options.nodeID);
        if (action === 'shards.stats') return this.#own(asked);
        if (action === 'shards.drop') return this.#drop(asked);
        if (!isRecord(params)) return next(action, params, options);
        const field = CONTINUATION_FIELDS[action];
        if (field !== undefined && typeof params[field] === 'string') return this.#continue(asked, field, params);
        return isAboutShard(params) ? this.#toHolder(asked, params) : next(action, params, options);
      };
    },
  } as unknown as Middleware;

  /** Runs on every node. Makes calls to a dead node fail before its heartbeats are missed. */
  readonly service: ServiceSchema = {
    name: '$shard-calls',
    events: {
      [NODE_DEAD]: ({ params }: { params: { node: string } }) => {
        const broker = this.#broker;
        if (broker && params.node !== broker.nodeID) broker.registry.nodes.disconnected(params.node, true);
      },
    },
  };

  /** Opening a shard may take long; the call waits as long as the node responds to pings. */
  #toNode({ next, action, params, options }: ShardCall, nodeID: string): Promise<unknown> {
    const ask = (): Promise<unknown> => next(action, params, options);
    return action === 'shards.adopt' ? this.#answerFrom(nodeID, true, ask) : ask();
  }

  /** Calls the local node, because every node reports its own stats. */
  #own({ next, action, params, options }: ShardCall): Promise<unknown> {
    const nodeID = this.#broker.nodeID;
    if (this.nodes().includes(nodeID)) return next(action, params, { ...options, nodeID });
    return Promise.reject(new Errors.ServiceNotFoundError({ action, nodeID }));
  }

  async #toHolder({ next, action, options }: ShardCall, params: ShardParams): Promise<unknown> {
    const reads = !WRITES.has(action);
    const { shard, waitMs, openMaxMs } = params;
    const timeoutMs = options.timeout ?? INTERNAL_LIMITS.actionTimeoutMs;
    const patienceMs = reads || waitMs === undefined ? timeoutMs || INTERNAL_LIMITS.actionTimeoutMs : waitMs;
    const deadlineMs = SYSTEM_CLOCK.monotonicMs() + patienceMs;
    const isWatched = reads || openMaxMs !== undefined;
    let answeredBy = '';
    const ask = (nodeID: string, leftMs: number, asked: ShardParams): Promise<unknown> => {
      answeredBy = nodeID;
      const timeout = timeoutMs === 0 ? 0 : Math.max(1, Math.min(timeoutMs, leftMs));
      const answer = (): Promise<unknown> => next(action, asked, { ...options, nodeID, timeout });
      return isWatched ? this.#answerFrom(nodeID, reads, answer) : answer();
    };
    const askHolder = async (nodeID: string, leftMs: number): Promise<unknown> => {
      if (isWatched && this.#unresponsive.isUnresponsive(nodeID)) throw new NodeUnresponsive(nodeID);
      // Sent as a strong read, because a node does not open the shard for an eventual one.
      const strong = params.eventual ? { ...params, eventual: false } : params;
      return ask(nodeID, leftMs, waitMs === undefined ? strong : { ...strong, waitMs: Math.min(waitMs, leftMs) });
    };
    const key = shardKey(shard.collectionId, shard.index);
    const replicas = shard.replicas ?? 0;
    const copied =
      params.eventual && replicas > 0
        ? await this.#fromCopy(key, replicas, deadlineMs, (nodeID, leftMs) => ask(nodeID, leftMs, params))
        : null;
    const result = copied ?? (await this.#router.call({ shard: key, deadlineMs, reads, openMaxMs, ask: askHolder }));
    const field = CONTINUATION_FIELDS[action];
    return field === undefined ? result : withNodePrefix(result, field, answeredBy);
  }

  /** Waits for the node's answer. A read throws NodeUnresponsive if the node stops responding. */
  async #answerFrom<T>(node: string, reads: boolean, ask: () => Promise<T>): Promise<T> {
    const answer = ask();
    if (node === this.#broker.nodeID) return answer;
    try {
      return await this.#unresponsive.answerFrom(node, answer);
    } catch (error) {
      // Only the answer tells whether a write was done.
      if (!(error instanceof NodeUnresponsive) || reads) throw error;
      return answer;
    }
  }

  /** Returns a copy's answer, or null if none answers in time. Throws errors of the request. */
  async #fromCopy(
    shard: ShardKey,
    replicas: number,
    deadlineMs: number,
    ask: (nodeID: string, leftMs: number) => Promise<unknown>,
  ): Promise<unknown> {
    // These include the shard's holder and followers unless a node joined or left.
    const placed = this.#router.placement.order(shard, replicas + 1);
    const first = Math.floor(Math.random() * placed.length);
    const nodes = [...placed.slice(first), ...placed.slice(0, first)];
    // Unresponsive nodes come last. They may have recovered by then.
    const isDoubted = (node: string): number => Number(this.#unresponsive.isUnresponsive(node));
    nodes.sort((one, other) => isDoubted(one) - isDoubted(other));
    for (const [tried, node] of nodes.entries()) {
      // Leaves time for the nodes that follow, including the holder.
      const shareMs = (deadlineMs - SYSTEM_CLOCK.monotonicMs()) / (nodes.length - tried + 1);
      if (shareMs < 1) break;
      try {
        return await ask(node, Math.min(shareMs, COPY_MAX_MS));
      } catch (error) {
        if (!(error instanceof ShardMoved) && !isShardUnavailable(error) && lossOf(error) === 'none') throw error;
      }
    }
    return null;
  }

  async #continue(
    { next, action, options }: ShardCall,
    field: 'session' | 'rest',
    params: Record<string, unknown>,
  ): Promise<unknown> {
    const name = params[field] as string;
    const slash = name.lastIndexOf('/');
    const nodeID = name.slice(0, slash);
    try {
      const answer = await next(action, { ...params, [field]: name.slice(slash + 1) }, { ...options, nodeID });
      return withNodePrefix(answer, field, nodeID);
    } catch (error) {
      // A lost page is gone from the node; null makes the caller start the read over.
      if (action === 'shards.next' && lossOf(error) !== 'none') return null;
      throw error;
    }
  }

  /** Makes every node forget the collection before its data is dropped. */
  async #drop({ next, params, options }: ShardCall): Promise<unknown> {
    const nodes = this.nodes();
    await Promise.all(nodes.map((nodeID) => next('shards.forget', params, { ...options, nodeID })));
    return next('shards.drop', params, { ...options, nodeID: nodes[0] });
  }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}

/** Prefixes the ids of remaining pages, in each page of the answer, with the node's name. */
function withNodePrefix(answer: unknown, field: string, node: string): unknown {
  if (Array.isArray(answer)) return answer.map((each) => withNodePrefix(each, field, node));
  if (!isRecord(answer)) return answer;
  if (isRecord(answer.page)) return { ...answer, page: withNodePrefix(answer.page, field, node) };
  return typeof answer[field] === 'string' ? { ...answer, [field]: `${node}/${answer[field]}` } : answer;
}

function isAboutShard(params: object): params is ShardParams {
  return 'shard' in params;
}

function lossOf(error: unknown): Loss {
  // A write was not sent; for a read it does not matter.
  if (error instanceof NodeUnresponsive) return 'unsent';
  if (!(error instanceof Errors.MoleculerError)) return 'none';
  if (isUnsent(error)) return 'unsent';
  return OUTCOME_UNKNOWN.has(error.name) ? 'unknown' : 'none';
}
