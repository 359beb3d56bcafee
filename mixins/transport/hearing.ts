import type { Middleware, ServiceBroker } from 'moleculer';

type Handle = (cmd: string, packet: { payload?: { sender?: string } }) => Promise<unknown>;

/** When a broker last heard from another one, on the monotonic clock. */
const heardMs = new WeakMap<ServiceBroker, number>();

/**
 * Notes when packets of other nodes come, over a transporter with heartbeats: each node sends one
 * every other second, so that one that hears nothing for long is cut off, or alone.
 */
export function hearing(monotonicMs: () => number): Middleware {
  let own: ServiceBroker | null = null;
  return {
    name: 'Hearing',
    created: (broker: ServiceBroker) => {
      own = broker;
      heardMs.set(broker, monotonicMs());
    },
    transitMessageHandler: (next: Handle): Handle => {
      return (cmd, packet) => {
        if (own !== null && packet.payload?.sender !== own.nodeID) heardMs.set(own, monotonicMs());
        return next(cmd, packet);
      };
    },
  } as unknown as Middleware;
}

/**
 * For how long the broker has heard nothing of any other node, in milliseconds; 0 where nobody
 * notes it.
 */
export function silenceMs(broker: ServiceBroker, monotonicMs: number): number {
  return monotonicMs - (heardMs.get(broker) ?? monotonicMs);
}
