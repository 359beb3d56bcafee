import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { Transform } from 'node:stream';

/** Listens on an address and hands everything on to a port of this machine, and back. */
export class TcpRelay {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #isHolding = false;
  /** Sees what clients send, as it comes; `connection` counts the connections. */
  onSent: ((bytes: Buffer, connection: number) => void) | null = null;
  /** How long each piece of what clients send is on its way. */
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

  /** Nothing passes any more, and nobody is told, until `release`. */
  hold(): void {
    this.#isHolding = true;
    for (const socket of this.#sockets) socket.pause();
  }

  release(): void {
    this.#isHolding = false;
    for (const socket of this.#sockets) socket.resume();
  }

  /** Ends every connection, with all that was on its way. */
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
