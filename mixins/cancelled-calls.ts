/**
 * Carries a caller's AbortSignal (the call option `signal`) to the node that executes the call.
 *
 * Within a process, Moleculer passes the option on. When the signal of a call to another node
 * aborts, the call fails at once, and that node is notified with the call's id. The action there
 * has a signal of its own in its options, which also aborts when the action fails.
 * A node that is not notified, because it runs an older version or the message is lost, finishes
 * the work.
 */
import type { Context, Middleware, Service, ServiceBroker, ServiceSchema } from 'moleculer';
import { Cancelled, signalOf } from '../contracts/actions/cancelled.ts';

const SERVICE = '$cancelled-calls';
const CANCEL = `${SERVICE}.cancel`;

type Handler = (this: Service, ctx: Context) => Promise<unknown>;

export class CancelledCalls {
  /** Controllers of calls from other nodes, by call id. */
  readonly #running = new Map<string, AbortController>();
  /** Set when the broker is created, before any call. */
  #broker!: ServiceBroker;

  readonly #service: ServiceSchema = {
    name: SERVICE,
    actions: {
      cancel: {
        params: { call: 'string', isClientGone: 'boolean' },
        handler: ({ params }: Context<{ call: string; isClientGone: boolean }>): null => {
          this.#running.get(params.call)?.abort(new Cancelled(params.isClientGone));
          return null;
        },
      },
    },
  };

  readonly middleware: Middleware = {
    name: 'CancelledCalls',
    created: (broker: ServiceBroker) => {
      this.#broker = broker;
      broker.createService(this.#service);
    },
    localAction: (next: Handler): Handler => {
      const { run } = this;
      return function cancellable(ctx) {
        return run(ctx, () => next.call(this, ctx));
      };
    },
    remoteAction: (next: Handler): Handler => {
      const { ask } = this;
      return function cancellable(ctx) {
        return ask(ctx, () => next.call(this, ctx));
      };
    },
  } as unknown as Middleware;

  /** Runs an action. A call from another node gets its own signal. */
  readonly run = async (ctx: Context, work: () => Promise<unknown>): Promise<unknown> => {
    if (ctx.nodeID === null || ctx.nodeID === this.#broker.nodeID) return work();
    const controller = new AbortController();
    Object.assign(ctx.options, { signal: controller.signal });
    this.#running.set(ctx.id, controller);
    try {
      return await work();
    } catch (error) {
      controller.abort(new Cancelled(false));
      throw error;
    } finally {
      this.#running.delete(ctx.id);
    }
  };

  /** Sends a call to another node and cancels it there when the caller's signal aborts. */
  readonly ask = (ctx: Context, send: () => Promise<unknown>): Promise<unknown> => {
    const signal = signalOf(ctx.options);
    if (signal === undefined) return send();
    if (signal.aborted) return Promise.reject(signal.reason);
    return new Promise((resolve, reject) => {
      const cancel = (): void => {
        this.#broker.transit?.removePendingRequest(ctx.id);
        this.#tell(ctx, signal.reason);
        reject(signal.reason);
      };
      const ended = (): void => signal.removeEventListener('abort', cancel);
      signal.addEventListener('abort', cancel, { once: true });
      send().then(resolve, reject).finally(ended);
    });
  };

  #tell({ id, nodeID }: Context, reason: unknown): void {
    const broker = this.#broker;
    if (nodeID === null) return;
    const isKnown = broker.registry.actions.get(CANCEL)?.getEndpointByNodeID(nodeID)?.isAvailable === true;
    if (!isKnown) return;
    const isClientGone = reason instanceof Cancelled && reason.isClientGone;
    // Best effort: without this message, the other node finishes the call in vain.
    broker.call(CANCEL, { call: id, isClientGone }, { nodeID }).catch(() => undefined);
  }
}
