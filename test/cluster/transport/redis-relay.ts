import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';

/**
 * Relays between nodes and Redis. It can make subscriptions deaf: connections stay open, and
 * nothing arrives.
 */
export class RedisRelay {
  readonly #server;
  readonly #pairs = new Set<{ inner: Socket; outer: Socket; subscribes: boolean }>();
  #port = 0;
  #isCut = false;

  private constructor(redisPort: number) {
    this.#server = createServer((outer) => {
      if (this.#isCut) return void outer.destroy();
      const inner = connect(redisPort, '127.0.0.1');
      const pair = { inner, outer, subscribes: false };
      this.#pairs.add(pair);
      outer.on('data', (bytes) => {
        if (/\bsubscribe\b/.test(bytes.toString('latin1'))) pair.subscribes = true;
        inner.write(bytes);
      });
      inner.on('data', (bytes) => outer.write(bytes));
      for (const [from, to] of [[inner, outer] as const, [outer, inner] as const]) {
        from.on('error', () => to.destroy());
        from.on('close', () => {
          to.destroy();
          this.#pairs.delete(pair);
        });
      }
    });
  }

  static async start(redisPort: number): Promise<RedisRelay> {
    const relay = new RedisRelay(redisPort);
    relay.#server.listen(0, '127.0.0.1');
    await once(relay.#server, 'listening');
    relay.#port = (relay.#server.address() as { port: number }).port;
    return relay;
  }

  get url(): string {
    return `redis://127.0.0.1:${this.#port}`;
  }

  /** Blocks all currently open subscriptions. */
  deafen(): void {
    for (const { inner, subscribes } of this.#pairs) if (subscribes) inner.pause();
  }

  /** Closes all connections and accepts none until `mend`. */
  cut(): void {
    this.#isCut = true;
    for (const { inner, outer } of this.#pairs) {
      inner.destroy();
      outer.destroy();
    }
  }

  mend(): void {
    this.#isCut = false;
  }

  async stop(): Promise<void> {
    this.#server.close();
    this.cut();
    await once(this.#server, 'close');
  }
}
