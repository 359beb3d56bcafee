/**
 * Finds out what happened to calls whose request or response was lost between connected nodes.
 *
 * A call that never arrived fails with an error that allows a retry on any node, and does not run
 * if it arrives later. A lost response is sent again, unless it is large or the call is repeatable;
 * the call then fails with an unknown outcome. None of this makes a call run twice. While the other
 * node does not respond, calls wait until it counts as disconnected.
 * See docs/internals/transport.md.
 */
import { Errors, type Middleware, type ServiceBroker, type ServiceSchema, type Transit } from 'moleculer';
import type { Logger } from 'pino';
import { ReceivedCalls } from './received-calls.ts';
import type { Packet } from './undelivered.ts';

const ASK_AFTER_MS = 1_000;
const LOOK_EVERY_MS = 500;
const ASK_TIMEOUT_MS = 1_000;
/** Maximum number of calls in one status request: those whose last request is longest ago. */
export const ASKED_MAX = 1_000;
const REQUEST = 'REQ';
const ANSWER = 'RES';
const SERVICE = '$calls';
/** Answered by every node that others can call, however busy it is. */
const CALL_STATUSES = `${SERVICE}.statusOf`;

type Send = (topic: string, data: Buffer, meta: { packet: Packet }) => Promise<void>;
type Handle = (cmd: string, packet: Packet) => Promise<unknown>;

/** Whether `node` answers a ping within `maxMs`. Also true for older versions without pings. */
export async function respondsToPing(broker: ServiceBroker, node: string, maxMs: number): Promise<boolean> {
  const asked = async (): Promise<boolean> => {
    try {
      await broker.call(CALL_STATUSES, { calls: [] }, { nodeID: node, timeout: maxMs / 2 });
      return true;
    } catch (error) {
      return error instanceof Errors.ServiceNotFoundError;
    }
  };
  // Asks twice: if this process is busy, the first call may time out although its response arrived.
  return (await asked()) || asked();
}

interface AwaitedCall {
  id: string;
  action: string;
  ageMs: number;
}

/** Status of the requested calls. The responses to calls not listed are still to come. */
interface CallStatuses {
  /** Id of the process that reports. */
  instanceId: string;
  /** Calls that never arrived, and will not run if they do. */
  lost: string[];
  /** Calls that never arrived, or whose response is no longer available. */
  unknown: string[];
}

/** A request that was passed to the transporter. */
interface SentCall {
  node: string;
  /** Id of the process that ran there. */
  instanceId: string | undefined;
  begunMs: number;
  /** Null while it is being sent. */
  sentMs: number | null;
}

/** `pendingRequests` has the action itself, although Moleculer's types declare its name. */
type PendingCall = { action: { name: string }; nodeID: string; reject(error: Error): void };

interface LostCallsOptions {
  log: Logger;
  monotonicMs(): number;
  /** Whether an action changes nothing and its caller retries a call with an unknown outcome. */
  isRepeatable(action: string): boolean;
}

export class LostCalls {
  readonly #log: Logger;
  readonly #monotonicMs: () => number;
  readonly #received: ReceivedCalls;
  /** In order of their last status request, oldest first. */
  readonly #sent = new Map<string, SentCall>();
  /** Nodes with a status request in flight. */
  readonly #asked = new Set<string>();
  /** Set when the broker is created, before any call. */
  #broker!: ServiceBroker;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: LostCallsOptions) {
    this.#log = options.log;
    this.#monotonicMs = options.monotonicMs;
    const isRepeatable = (action: string): boolean => action === CALL_STATUSES || options.isRepeatable(action);
    this.#received = new ReceivedCalls({ ...options, isRepeatable });
  }

  readonly #service: ServiceSchema = {
    name: SERVICE,
    actions: {
      statusOf: {
        params: { calls: { type: 'array', items: 'object' } },
        handler: ({ params }: { params: { calls: AwaitedCall[] } }): CallStatuses => this.#statusOf(params.calls),
      },
    },
  };

  readonly middleware: Middleware = {
    name: 'LostCalls',
    created: (broker: ServiceBroker) => {
      this.#broker = broker;
      broker.createService(this.#service);
    },
    started: () => {
      this.#timer = setInterval(() => this.#look(), LOOK_EVERY_MS).unref();
    },
    stopped: () => clearInterval(this.#timer),
    transporterSend: (next: Send): Send => {
      return (topic, data, meta) => {
        const { type, payload, target } = meta.packet;
        if (type === REQUEST && target !== undefined && payload.action !== CALL_STATUSES)
          return this.#watched(payload.id, target, () => next(topic, data, meta));
        if (type === ANSWER) {
          // Without the response's content, which its bytes contain already.
          const bare = { packet: { type, target, payload: { id: payload.id } } } as { packet: Packet };
          this.#received.answer(payload.id, data, (copy) => next(topic, copy, bare));
        }
        return next(topic, data, meta);
      };
    },
    transitMessageHandler: (next: Handle): Handle => {
      return (cmd, packet) => (cmd === REQUEST ? this.#run(packet, () => next(cmd, packet)) : next(cmd, packet));
    },
  } as unknown as Middleware;

  async #watched(id: string, node: string, send: () => Promise<void>): Promise<void> {
    const known = this.#broker.registry.nodes.get(node) as { instanceID: string | null } | undefined;
    const sent: SentCall = {
      node,
      instanceId: known?.instanceID ?? undefined,
      begunMs: this.#monotonicMs(),
      sentMs: null,
    };
    this.#sent.set(id, sent);
    await send();
    sent.sentMs = this.#monotonicMs();
  }

  async #run({ payload: { id, action } }: Packet, handle: () => Promise<unknown>): Promise<unknown> {
    if (!this.#received.arrived(id, action)) return false;
    try {
      return await handle();
    } finally {
      this.#received.ended(id);
    }
  }

  #statusOf(calls: AwaitedCall[]): CallStatuses {
    const statuses: CallStatuses = { instanceId: this.#broker.instanceID, lost: [], unknown: [] };
    for (const { id, action, ageMs } of calls) {
      const status = this.#received.status(id, action, ageMs);
      if (status === 'running') continue;
      const sendAgain = this.#received.answerOf(id);
      // If this is lost too, the caller asks again.
      if (sendAgain !== null) sendAgain().catch(() => undefined);
      else statuses[status === 'lost' ? 'lost' : 'unknown'].push(id);
    }
    return statuses;
  }

  /** Asks nodes about calls that have waited long enough. */
  #look(): void {
    const { pendingRequests } = this.#transit;
    const dueMs = this.#monotonicMs() - ASK_AFTER_MS;
    const due = new Map<string, string[]>();
    for (const [id, { node, sentMs }] of this.#sent) {
      if (!pendingRequests.has(id)) this.#sent.delete(id);
      else if (sentMs !== null && sentMs <= dueMs && !this.#asked.has(node)) {
        const ids = due.get(node) ?? [];
        if (ids.length < ASKED_MAX) ids.push(id);
        due.set(node, ids);
      }
    }
    for (const [node, ids] of due) void this.#ask(node, ids);
  }

  async #ask(node: string, ids: string[]): Promise<void> {
    const monotonicMs = this.#monotonicMs();
    const calls = ids.flatMap((id): AwaitedCall[] => {
      const [pending, sent] = [this.#pending(id), this.#sent.get(id)];
      return pending && sent ? [{ id, action: pending.action.name, ageMs: monotonicMs - sent.begunMs }] : [];
    });
    this.#asked.add(node);
    try {
      const options = { nodeID: node, timeout: ASK_TIMEOUT_MS };
      const { instanceId, lost, unknown } = await this.#broker.call<CallStatuses, object>(
        CALL_STATUSES,
        { calls },
        options,
      );
      // A call that did not reach the current process may have reached the node's previous one.
      const isSame = (id: string): boolean => this.#sent.get(id)?.instanceId === instanceId;
      const [unsent, open] = [lost.filter(isSame), lost.filter((id) => !isSame(id))];
      // `#fail` ignores calls whose response arrived before this status.
      const counts = { lost: this.#fail(unsent, true), unknown: this.#fail([...open, ...unknown], false) };
      if (counts.lost + counts.unknown > 0) this.#log.warn({ node, ...counts }, 'calls to a node were lost on the way');
    } catch {
      // Asked again, until the node counts as disconnected.
    } finally {
      this.#asked.delete(node);
      for (const id of ids) this.#putLast(id);
    }
  }

  #putLast(id: string): void {
    const sent = this.#sent.get(id);
    if (sent === undefined) return;
    this.#sent.delete(id);
    this.#sent.set(id, sent);
  }

  /** Fails pending calls and returns their number. `areUnsent`: they did not and will not run. */
  #fail(ids: readonly string[], areUnsent: boolean): number {
    let failed = 0;
    for (const id of ids) {
      const pending = this.#pending(id);
      if (!pending) continue;
      failed++;
      this.#sent.delete(id);
      this.#transit.removePendingRequest(id);
      const about = { action: pending.action.name, nodeID: pending.nodeID };
      pending.reject(areUnsent ? new Errors.ServiceNotAvailableError(about) : new Errors.RequestRejectedError(about));
    }
    return failed;
  }

  #pending(id: string): PendingCall | undefined {
    return this.#transit.pendingRequests.get(id) as PendingCall | undefined;
  }

  get #transit(): Transit {
    return this.#broker.transit!;
  }
}
