import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { Transform } from 'node:stream';

/** Listens on an address and forwards everything to a port of this machine, and back. */
export class TcpRelay {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #isHolding = false;
  /** Observes what clients send as it arrives. `connection`: number of the connection. */
  onSent: ((bytes: Buffer, connection: number) => void) | null = null;
  /** Delay of each chunk that clients send. */
  delayMs = 0;
  #connections = 0;

  private constructor(targetPort: number) {
    this.#server = createServer((outer) => {
      const connection = this.#connections++;
      const inner = connect(targetPort, '127.0.0.1');
      outer.on('data', (bytes) => this.onSent?.(bytes, connection));
      outer.pipe(this.#delaying()).pipe(inner);
      inner.pipe(outer);
      for (const [one, other] of [
        [outer, inner],
        [inner, outer],
      ] as const) {
        this.#sockets.add(one);
        if (this.#isHolding) one.pause();
        one.on('error', () => other.destroy());
        one.on('close', () => {
          this.#sockets.delete(one);
          other.destroy();
        });
      }
    });
  }

  static async start(host: string, targetPort: number): Promise<TcpRelay> {
    const relay = new TcpRelay(targetPort);
    relay.#server.listen(0, host);
    await once(relay.#server, 'listening');
    return relay;
  }

  /** `host:port`. */
  get address(): string {
    const { address, port } = this.#server.address() as AddressInfo;
    return `${address}:${port}`;
  }

  /** Stops forwarding until `release`, with the connections open. */
  hold(): void {
    this.#isHolding = true;
    for (const socket of this.#sockets) socket.pause();
  }

  release(): void {
    this.#isHolding = false;
    for (const socket of this.#sockets) socket.resume();
  }

  /** Closes every connection and drops everything in transit. */
  drop(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  #delaying(): Transform {
    const later = (done: () => void): void => void (this.delayMs > 0 ? setTimeout(done, this.delayMs) : done());
    return new Transform({ transform: (bytes, _, done) => later(() => done(null, bytes)) });
  }

  async stop(): Promise<void> {
    this.#server.close();
    this.drop();
    await once(this.#server, 'close');
  }
}
