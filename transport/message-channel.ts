import type { Logger } from 'pino';
import { withTimeLimit } from '../lib/time/timers.ts';
import { RepeatedLines } from '../process/repeated-lines.ts';
import { decodeFrame, encodeAcknowledgement, type FramePart, isFrame } from './frame.ts';
import { InboundMessages } from './inbound-messages.ts';
import { DeliveryError, OutboundMessages } from './outbound-messages.ts';
import type { TransportLimits } from './transport-limits.ts';
import type { DropReason, TransportMetrics } from './transport-metrics.ts';

/** Thrown for a message above the size limit. A retry does not help. */
export class MessageTooLarge extends Error {
  override name = 'MessageTooLarge';
}

/** Sends a packet of Moleculer's type `cmd` to a node, or to all (null). Rejects if it cannot. */
export type Wire = (cmd: string, target: string | null, packet: Buffer) => Promise<void>;

interface ChannelOptions {
  nodeID: string;
  log: Logger;
  metrics: TransportMetrics;
  limits: TransportLimits;
}

/** Moleculer's type of packets that are addressed to one node, also used for acknowledgements. */
const ADDRESSED = 'RES';

/**
 * Sends messages of any size up to the limit over a wire with packets of `packetMaxBytes`.
 *
 * A message arrives whole, once, or not at all; one whose `send` rejects may still have arrived.
 * Memory for incomplete messages is bounded. Dropped messages are counted and logged.
 */
export class MessageChannel {
  readonly #wire: Wire;
  readonly #options: ChannelOptions;
  readonly #repeated = new RepeatedLines();
  readonly #inbound: InboundMessages;
  readonly #outbound: OutboundMessages;
  readonly #sends = new Set<Promise<void>>();
  readonly #sweeper: NodeJS.Timeout;

  constructor(wire: Wire, options: ChannelOptions) {
    const { nodeID, metrics, limits } = options;
    this.#wire = wire;
    this.#options = options;
    const onDrop = (reason: DropReason, sender: string) => this.#dropped(reason, sender);
    this.#inbound = new InboundMessages({ limits, monotonicMs: () => performance.now(), onDrop });
    this.#outbound = new OutboundMessages({ nodeID, limits, onPart: () => metrics.parts.inc({ direction: 'sent' }) });
    this.#sweeper = setInterval(() => this.#inbound.dropAged(), limits.incompleteMaxAgeMs).unref();
  }

  /** Bytes held for incomplete messages. */
  get incompleteBytes(): number {
    return this.#inbound.bytes;
  }

  /** Rejects with MessageTooLarge, DeliveryError, or the wire's error. */
  async send(cmd: string, target: string | null, message: Buffer): Promise<void> {
    const sent = this.#send(cmd, target, message);
    this.#sends.add(sent);
    try {
      await sent;
      this.#options.metrics.message('sent', message.length);
    } catch (error) {
      this.#options.metrics.failures.inc();
      throw error;
    } finally {
      this.#sends.delete(sent);
    }
  }

  /** Returns the message that this packet completes, or null. */
  receive(packet: Buffer): Buffer | null {
    const message = isFrame(packet) ? this.#frame(packet) : packet;
    if (message !== null) this.#options.metrics.message('received', message.length);
    return message;
  }

  /** Aborts messages to and from a disconnected node. */
  nodeGone(nodeID: string): void {
    this.#outbound.fail(nodeID, new DeliveryError('The receiver is gone.'));
    this.#inbound.dropFrom(nodeID);
  }

  /** Aborts everything. Pending sends reject with `error`. */
  wireLost(error: Error): void {
    this.#outbound.fail(null, error);
    this.#inbound.dropFrom(null);
  }

  /** Waits for pending sends, up to `drainMaxMs`. */
  async drain(): Promise<void> {
    const ended = Promise.allSettled(this.#sends).then(() => undefined);
    await withTimeLimit(ended, this.#options.limits.drainMaxMs, () => undefined);
  }

  close(): void {
    clearInterval(this.#sweeper);
    this.wireLost(new DeliveryError('This node is disconnecting.'));
    this.#repeated.close();
  }

  async #send(cmd: string, target: string | null, message: Buffer): Promise<void> {
    const { packetMaxBytes, messageMaxBytes } = this.#options.limits;
    if (message.length <= packetMaxBytes && !isFrame(message)) return this.#wire(cmd, target, message);
    if (message.length > messageMaxBytes)
      throw new MessageTooLarge(`A message of ${message.length} bytes is larger than ${messageMaxBytes}.`);
    return this.#outbound.send(target, message, (frame) => this.#wire(cmd, target, frame));
  }

  #frame(packet: Buffer): Buffer | null {
    try {
      const frame = decodeFrame(packet);
      if (frame.kind === 'part') return this.#part(frame);
      this.#outbound.acknowledged(frame);
    } catch (error) {
      this.#options.metrics.drops.inc({ reason: 'undecodable' });
      this.#repeated.write('undecodable', (fields) =>
        this.#options.log.warn({ err: error, ...fields }, 'could not decode a packet from another node'),
      );
    }
    return null;
  }

  #part(part: FramePart): Buffer | null {
    this.#options.metrics.parts.inc({ direction: 'received' });
    const accepted = this.#inbound.accept(part);
    if (part.acknowledge) {
      const receivedBytes = accepted?.receivedBytes ?? 0;
      const frame = encodeAcknowledgement({ id: part.id, receivedBytes, refused: accepted === null });
      // The sender then times out.
      this.#wire(ADDRESSED, part.sender, frame).catch((error: unknown) =>
        this.#options.log.debug({ err: error }, 'could not send an acknowledgement'),
      );
    }
    return accepted?.message ?? null;
  }

  #dropped(reason: DropReason, sender: string): void {
    this.#options.metrics.drops.inc({ reason });
    this.#repeated.write(`${reason} ${sender}`, (fields) =>
      this.#options.log.warn({ reason, node: sender, ...fields }, 'dropped a message from another node'),
    );
  }
}
