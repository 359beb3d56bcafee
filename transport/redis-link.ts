/** The part of an ioredis client that a link uses. It must connect only on `connect`, once. */
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

/** Thrown for commands on a lost link. Redis may or may not have received them. */
export class LinkLost extends Error {
  override name = 'LinkLost';
}

/**
 * One connection to Redis for publishing and one for subscriptions, which fail together.
 *
 * A link is never repaired, because messages and replies lost with it cannot be determined. Its
 * owner opens a new link and treats everything in flight as lost. So nothing is sent twice: after a
 * reconnect ioredis would resend commands, and Moleculer would subscribe again.
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

  /** Connects and subscribes. Rejects with the cause and closes both connections on failure. */
  static async open(makeClient: () => RedisClient, channels: string[], onMessage: OnMessage): Promise<RedisLink> {
    const link = new RedisLink(makeClient, onMessage);
    try {
      await Promise.all([link.#publisher.connect(), link.#subscriber.connect()]);
      if (channels.length > 0) await link.#subscriber.subscribe(...channels);
      return link;
    } catch (error) {
      link.close(error as Error);
      // A connection's first error is more specific than the fact that it was closed.
      throw await link.lost;
    }
  }

  /** Publishes a message and returns the number of connections that Redis delivered it to. */
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

  /** Returns the number of connections subscribed to a channel. */
  async subscribers(channel: string): Promise<number> {
    const [, count] = await this.#publisher.pubsub('NUMSUB', channel);
    return Number(count);
  }

  /** Detects a dead subscription connection: a ping without a reply makes it time out. */
  probe(): void {
    // The connection reports its own failure.
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
