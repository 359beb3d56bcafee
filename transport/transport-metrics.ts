import { Counter, type Registry } from 'prom-client';

/** Why a packet or a partly received message was dropped. */
export type DropReason =
  | 'too large'
  | 'no room'
  | 'out of order'
  | 'aged'
  | 'node gone'
  | 'undecodable'
  | 'unsealed'
  | 'other secret'
  | 'not for this process'
  | 'replayed';

/** Counters of traffic with other nodes. No label contains a node's name or tenant data. */
export class TransportMetrics {
  readonly messages: Counter<'direction'>;
  readonly bytes: Counter<'direction'>;
  readonly parts: Counter<'direction'>;
  readonly drops: Counter<'reason'>;
  readonly failures: Counter;
  readonly reconnects: Counter;

  constructor(registry: Registry) {
    const counter = <L extends string>(name: string, help: string, ...labelNames: L[]) =>
      new Counter<L>({ name, help, labelNames, registers: [registry] });
    this.messages = counter('provec_transport_messages_total', 'Messages between nodes.', 'direction');
    this.bytes = counter('provec_transport_bytes_total', 'Bytes of messages between nodes.', 'direction');
    this.parts = counter('provec_transport_parts_total', 'Parts of messages too large for one packet.', 'direction');
    const drops = 'Messages given up before they were whole, and packets that no member sealed.';
    this.drops = counter('provec_transport_drops_total', drops, 'reason');
    this.failures = counter('provec_transport_send_failures_total', 'Messages that could not be sent.');
    this.reconnects = counter('provec_transport_reconnects_total', 'Lost connections that came back.');
  }

  message(direction: 'sent' | 'received', bytes: number): void {
    this.messages.inc({ direction });
    this.bytes.inc({ direction }, bytes);
  }
}
