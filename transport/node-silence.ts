import type { Middleware, ServiceBroker } from 'moleculer';

type Handle = (cmd: string, packet: { payload?: { sender?: string } }) => Promise<unknown>;

/** When each broker last received a packet from another node, on the monotonic clock. */
const heardMs = new WeakMap<ServiceBroker, number>();

/** Records when packets of other nodes arrive. Without heartbeats a node is cut off, or alone. */
export function trackSilence(monotonicMs: () => number): Middleware {
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

/** Returns how long, in ms, the broker has received nothing from other nodes; 0 if not recorded. */
export function silenceMs(broker: ServiceBroker, monotonicMs: number): number {
  return monotonicMs - (heardMs.get(broker) ?? monotonicMs);
}
