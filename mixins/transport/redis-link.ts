/** What a link needs of an ioredis client that connects when told to and never again by itself. */
export interface RedisClient {
  connect(): Promise<unknown>;
  disconnect(): void;
  publish(channel: string, message: Buffer): Promise<number>;
  subscribe(...channels: string[]): Promise<unknown>;
  ping(): Promise<unknown>;
  pubsub(subcommand: 'NUMSUB', channel: string): Promise<unknown[]>;
  on(event: 'error', listener: (error: Error) => void): unknown;
  on(event: 'end', listener: () => void): unknown;
  on(event: 'messageBuffer', listener: (channel: Buffer, message: Buffer) => void): unknown;
}

export type OnMessage = (channel: string, message: Buffer) => void;

/** Thrown for what was to go over a link that is lost; whether Redis still got it is not known. */
export class LinkLost extends Error {
  override name = 'LinkLost';
}

/**
 * One connection to Redis for publishing and one for subscriptions, which live and die together.
 *
 * A link is never mended: what is lost with it (messages to this node while it was away, replies
 * that were awaited) cannot be known, so its owner opens a new one and treats everything in flight
 * as lost. That is also why nothing is ever sent twice: ioredis would send commands without a reply
 * again after a reconnect, and Moleculer would subscribe a second time.
 */
export class RedisLink {
  readonly #publisher: RedisClient;
  readonly #subscriber: RedisClient;
  #isClosed = false;
  #close: (error: Error) => void = () => undefined;
  /** Resolves with the reason when either connection has ended or `close` was called. */
  readonly lost: Promise<Error>;

  private constructor(makeClient: () => RedisClient, onMessage: OnMessage) {
    this.#publisher = makeClient();
    this.#subscriber = makeClient();
    this.lost = new Promise((resolve) => {
      this.#close = resolve;
    });
    let reason: Error | null = null;
    for (const client of [this.#publisher, this.#subscriber]) {
      client.on('error', (error) => {
        reason ??= error;
      });
      client.on('end', () => this.close(reason ?? new LinkLost('The connection to Redis was closed.')));
    }
    this.#subscriber.on('messageBuffer', (channel, message) => {
      if (!this.#isClosed) onMessage(channel.toString(), message);
    });
  }

  /**
   * Connects and subscribes. Rejects with what went wrong, and then leaves no connection behind.
   */
  static async open(makeClient: () => RedisClient, channels: string[], onMessage: OnMessage): Promise<RedisLink> {
    const link = new RedisLink(makeClient, onMessage);
    try {
      await Promise.all([link.#publisher.connect(), link.#subscriber.connect()]);
      if (channels.length > 0) await link.#subscriber.subscribe(...channels);
      return link;
    } catch (error) {
      link.close(error as Error);
      // The first error of a connection says more than that it was closed.
      throw await link.lost;
    }
  }

  /** Gives the number of connections that Redis handed the message to. */
  async publish(channel: string, message: Buffer): Promise<number> {
    try {
      return await this.#publisher.publish(channel, message);
    } catch (error) {
      this.close(error as Error);
      throw new LinkLost('The connection to Redis was lost.', { cause: error });
    }
  }

  async subscribe(channel: string): Promise<void> {
    await this.#subscriber.subscribe(channel);
  }

  /** The number of connections that are subscribed to a channel. */
  async subscribers(channel: string): Promise<number> {
    const [, count] = await this.#publisher.pubsub('NUMSUB', channel);
    return Number(count);
  }

  /**
   * Makes a subscription that went deaf unnoticed end: a connection that owes a reply for too long
   * does.
   */
  probe(): void {
    this.#subscriber.ping().catch(() => undefined);
  }

  close(reason: Error): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#close(reason);
    this.#publisher.disconnect();
    this.#subscriber.disconnect();
  }
}
