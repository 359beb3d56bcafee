import type { FramePart } from './frame.ts';
import type { TransportLimits } from './transport-limits.ts';
import type { DropReason } from './transport-metrics.ts';

/** A partly received message: the first `receivedBytes` of `bytes`. */
interface IncompleteMessage {
  sender: string;
  bytes: Buffer;
  receivedBytes: number;
  lastPartMs: number;
}

interface InboundOptions {
  limits: TransportLimits;
  monotonicMs(): number;
  /** Called for every message that is dropped. */
  onDrop(reason: DropReason, sender: string): void;
}

/**
 * Reassembles messages from parts, with limits on bytes, number and age, per sender and in total.
 *
 * The parts of a message arrive in order, over one connection. A part out of order means that
 * others were lost, so the message is dropped.
 */
export class InboundMessages {
  readonly #options: InboundOptions;
  readonly #incomplete = new Map<string, IncompleteMessage>();
  #bytes = 0;

  constructor(options: InboundOptions) {
    this.#options = options;
  }

  /** Memory held for incomplete messages. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Returns the bytes received so far, and the message if complete; null if refused. */
  accept(part: FramePart): { receivedBytes: number; message: Buffer | null } | null {
    this.dropAged();
    const incomplete = this.#incomplete.get(part.id) ?? this.#begin(part);
    if (incomplete === null) return null;
    if (part.offset !== incomplete.receivedBytes || part.messageBytes !== incomplete.bytes.length) {
      this.#drop(part.id, incomplete, 'out of order');
      return null;
    }
    part.data.copy(incomplete.bytes, part.offset);
    incomplete.receivedBytes += part.data.length;
    incomplete.lastPartMs = this.#options.monotonicMs();
    const { receivedBytes, bytes } = incomplete;
    if (receivedBytes < bytes.length) return { receivedBytes, message: null };
    this.#forget(part.id, incomplete);
    return { receivedBytes, message: bytes };
  }

  dropAged(): void {
    const oldestMs = this.#options.monotonicMs() - this.#options.limits.incompleteMaxAgeMs;
    for (const [id, incomplete] of this.#incomplete) {
      if (incomplete.lastPartMs < oldestMs) this.#drop(id, incomplete, 'aged');
    }
  }

  /** Drops incomplete messages from one node, or from all if null. */
  dropFrom(sender: string | null): void {
    for (const [id, incomplete] of this.#incomplete) {
      if (sender === null || incomplete.sender === sender) this.#drop(id, incomplete, 'node gone');
    }
  }

  #begin(part: FramePart): IncompleteMessage | null {
    const refusal = this.#refusalOf(part);
    if (refusal !== null) {
      this.#options.onDrop(refusal, part.sender);
      return null;
    }
    const incomplete: IncompleteMessage = {
      sender: part.sender,
      bytes: Buffer.allocUnsafeSlow(part.messageBytes),
      receivedBytes: 0,
      lastPartMs: this.#options.monotonicMs(),
    };
    this.#incomplete.set(part.id, incomplete);
    this.#bytes += part.messageBytes;
    return incomplete;
  }

  #refusalOf({ sender, offset, messageBytes }: FramePart): DropReason | null {
    const { limits } = this.#options;
    if (offset !== 0) return 'out of order';
    if (messageBytes > limits.messageMaxBytes) return 'too large';
    const ofSender = [...this.#incomplete.values()].filter((incomplete) => incomplete.sender === sender);
    const senderBytes = ofSender.reduce((bytes, incomplete) => bytes + incomplete.bytes.length, 0);
    const isFull =
      this.#bytes + messageBytes > limits.incompleteMaxBytes ||
      senderBytes + messageBytes > limits.incompletePerNodeMaxBytes ||
      ofSender.length >= limits.incompletePerNodeMax;
    return isFull ? 'no room' : null;
  }

  #drop(id: string, incomplete: IncompleteMessage, reason: DropReason): void {
    this.#forget(id, incomplete);
    this.#options.onDrop(reason, incomplete.sender);
  }

  #forget(id: string, { bytes }: IncompleteMessage): void {
    this.#incomplete.delete(id);
    this.#bytes -= bytes.length;
  }
}
