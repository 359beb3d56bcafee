import type { Transporters } from 'moleculer';
import type { Logger } from 'pino';
import type { Keyring } from '../lib/secret/keyring.ts';
import { MessageChannel, type Wire } from './message-channel.ts';
import { SealedWire, type SealedWireOptions } from './sealed-wire.ts';
import type { TransportLimits } from './transport-limits.ts';
import type { TransportMetrics } from './transport-metrics.ts';
import { deliveryErrorFor, type Packet } from './undelivered.ts';

/** Dependencies of both transporters. */
export interface TransportParts {
  keys: Keyring;
  log: Logger;
  metrics: TransportMetrics;
  limits: TransportLimits;
}

/** Messages of both transporters: packets are sealed, and large messages are sent in parts. */
export class SealedMessages {
  readonly sealed: SealedWire;
  readonly channel: MessageChannel;

  constructor(
    { nodeID, broker }: Transporters.Base,
    wire: Wire,
    { keys, ...parts }: TransportParts,
    events: Pick<SealedWireOptions, 'announce' | 'onMember'>,
  ) {
    const { namespace, localBus } = broker;
    const { memberWaitMaxMs } = parts.limits;
    const monotonicMs = () => performance.now();
    this.sealed = new SealedWire(wire, { ...parts, ...events, keys, nodeID, namespace, memberWaitMaxMs, monotonicMs });
    this.channel = new MessageChannel(this.sealed.send, { ...parts, nodeID });
    localBus.on('$node.disconnected', ({ node }: { node: { id: string } }) => this.channel.nodeGone(node.id));
  }

  /** Rejects with the error for the packet's sender. */
  async send(cmd: string, packet: Packet, data: Buffer): Promise<void> {
    try {
      await this.channel.send(cmd, packet.target ?? null, data);
    } catch (error) {
      throw deliveryErrorFor(packet, error);
    }
  }

  /** Returns the message that this packet completes. For `onShown` see `SealedWire.open`. */
  receive(cmd: string, packet: Buffer, onShown?: () => void): Buffer | null {
    const opened = this.sealed.open(cmd, packet, onShown);
    return opened && this.channel.receive(opened.packet);
  }

  close(): void {
    this.channel.close();
    this.sealed.close();
  }
}
