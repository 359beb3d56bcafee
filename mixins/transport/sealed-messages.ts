import type { Transporters } from 'moleculer';
import { MessageChannel, type Wire } from './message-channel.ts';
import { SealedWire, type SealedWireOptions } from './sealed-wire.ts';
import type { TransportLimits } from './transport-limits.ts';
import { type Packet, undelivered } from './undelivered.ts';

interface SealedMessagesOptions extends Pick<SealedWireOptions, 'keys' | 'log' | 'metrics' | 'announce' | 'onMember'> {
  limits: TransportLimits;
}

/** What both transporters do with messages: they go sealed, and in parts where they are large. */
export class SealedMessages {
  readonly sealed: SealedWire;
  readonly channel: MessageChannel;

  constructor({ nodeID, broker }: Transporters.Base, wire: Wire, { limits, ...options }: SealedMessagesOptions) {
    const { namespace, localBus } = broker;
    const { memberWaitMaxMs } = limits;
    const monotonicMs = () => performance.now();
    this.sealed = new SealedWire(wire, { ...options, nodeID, namespace, memberWaitMaxMs, monotonicMs });
    this.channel = new MessageChannel(this.sealed.send, { ...options, nodeID, limits });
    localBus.on('$node.disconnected', ({ node }: { node: { id: string } }) => this.channel.nodeGone(node.id));
  }

  /** Rejects with what the packet's sender is to be told. */
  async send(cmd: string, packet: Packet, data: Buffer): Promise<void> {
    try {
      await this.channel.send(cmd, packet.target ?? null, data);
    } catch (error) {
      throw undelivered(packet, error);
    }
  }

  /** A whole message, once its last packet has come; `onShown`: see `SealedWire.open`. */
  receive(cmd: string, packet: Buffer, onShown?: () => void): Buffer | null {
    const opened = this.sealed.open(cmd, packet, onShown);
    return opened && this.channel.receive(opened.packet);
  }

  close(): void {
    this.channel.close();
    this.sealed.close();
  }
}
