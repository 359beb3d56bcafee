import { randomBytes } from 'node:crypto';
import { Semaphore, type SemaphoreInterface, withTimeout } from 'async-mutex';
import { withTimeLimit } from '../lib/time/timers.ts';
import { type Acknowledgement, encodePart, PART_FRAME_MAX_BYTES } from './frame.ts';
import type { TransportLimits } from './transport-limits.ts';

/** Thrown when a message was not, or possibly not, delivered. */
export class DeliveryError extends Error {
  override name = 'DeliveryError';
}

/** Thrown when nothing of a message was sent because no process listens at the node. */
export class NoReceiver extends Error {
  override name = 'NobodyListens';

  constructor(node: string) {
    super(`No process listens at ${node}.`);
  }
}

/** Passes one frame of a message to the wire. Rejects if it cannot be sent. */
type SendFrame = (frame: Buffer) => Promise<void>;

interface OutboundOptions {
  nodeID: string;
  limits: TransportLimits;
  onPart(): void;
}

/**
 * Sends large messages in parts, with a window of unacknowledged bytes, so that a slow receiver
 * slows the sender down; Redis would drop its connection once 32 MiB wait for it. The first part is
 * acknowledged before others follow, so a refused message costs one part.
 */
export class OutboundMessages {
  readonly #options: OutboundOptions;
  readonly #partBytes: number;
  readonly #turns: SemaphoreInterface;
  readonly #sending = new Map<string, OutgoingMessage>();

  constructor(options: OutboundOptions) {
    const { packetMaxBytes, messagesInPartsMax, turnWaitMaxMs } = options.limits;
    this.#options = options;
    this.#partBytes = packetMaxBytes - PART_FRAME_MAX_BYTES;
    const tooMany = new DeliveryError('Too many large messages are being sent.');
    this.#turns = withTimeout(new Semaphore(messagesInPartsMax), turnWaitMaxMs, tooMany);
  }

  /**
   * Resolves when the receiver has the whole message. A null `target` is all nodes, without
   * acknowledgements. Throws DeliveryError.
   */
  async send(target: string | null, message: Buffer, carry: SendFrame): Promise<void> {
    await this.#turns.runExclusive(() =>
      target === null ? this.#broadcast(message, carry) : this.#deliver(target, message, carry),
    );
  }

  acknowledged({ id, receivedBytes, refused }: Acknowledgement): void {
    const sending = this.#sending.get(id);
    if (refused) sending?.fail(new DeliveryError('The receiver refused a message.'));
    else sending?.acknowledge(receivedBytes);
  }

  /** Fails messages being sent to one node, or to all if null. */
  fail(target: string | null, error: Error): void {
    for (const sending of this.#sending.values()) {
      if (target === null || sending.target === target) sending.fail(error);
    }
  }

  async #broadcast(message: Buffer, carry: SendFrame): Promise<void> {
    const id = randomBytes(16).toString('hex');
    for (let offset = 0; offset < message.length; offset += this.#partBytes) {
      await carry(this.#part(id, message, offset, false));
    }
  }

  async #deliver(target: string, message: Buffer, carry: SendFrame): Promise<void> {
    const { acknowledgementWaitMaxMs, messageWindowMaxBytes } = this.#options.limits;
    const id = randomBytes(16).toString('hex');
    const sending = new OutgoingMessage(target, acknowledgementWaitMaxMs);
    this.#sending.set(id, sending);
    try {
      for (let offset = 0; offset < message.length; offset += this.#partBytes) {
        const end = Math.min(message.length, offset + this.#partBytes);
        await sending.until((received) => offset === 0 || (received > 0 && end - received <= messageWindowMaxBytes));
        carry(this.#part(id, message, offset, true)).catch((error: unknown) => sending.fail(error));
      }
      await sending.until((received) => received >= message.length);
    } finally {
      this.#sending.delete(id);
    }
  }

  #part(id: string, message: Buffer, offset: number, acknowledge: boolean): Buffer {
    this.#options.onPart();
    const data = message.subarray(offset, offset + this.#partBytes);
    const sender = this.#options.nodeID;
    return encodePart({ id, sender, acknowledge, offset, messageBytes: message.length, data });
  }
}

/** A message being sent to one node. */
class OutgoingMessage {
  readonly target: string;
  readonly #waitMaxMs: number;
  #receivedBytes = 0;
  #failure: { error: unknown } | null = null;
  #wake = (): void => undefined;

  constructor(target: string, waitMaxMs: number) {
    this.target = target;
    this.#waitMaxMs = waitMaxMs;
  }

  acknowledge(receivedBytes: number): void {
    this.#receivedBytes = Math.max(this.#receivedBytes, receivedBytes);
    this.#wake();
  }

  fail(error: unknown): void {
    this.#failure ??= { error };
    this.#wake();
  }

  /** Waits for acknowledgements. Throws if sending failed or the receiver is silent. */
  async until(isEnough: (receivedBytes: number) => boolean): Promise<void> {
    for (;;) {
      if (this.#failure !== null) throw this.#failure.error;
      if (isEnough(this.#receivedBytes)) return;
      const news = Promise.withResolvers<void>();
      this.#wake = news.resolve;
      await withTimeLimit(news.promise, this.#waitMaxMs, () => this.fail(new DeliveryError('The receiver is silent.')));
    }
  }
}
