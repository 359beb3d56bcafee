import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

const HEADER_BYTES = 16;
/**
 * Offset of the command name in an OP_MSG, after the flags, the kind of the first section, the
 * length of its document, and the type of its first field.
 */
const NAME_AT = HEADER_BYTES + 4 + 1 + 4 + 1;
const WRITES = new Set(['insert', 'update', 'delete', 'findAndModify', 'findandmodify']);
/** Number of writes that never reach the server after `fail`. */
const LOST_REQUESTS = 2;

/**
 * `failing`: the first writes are lost on their way; the next ones are carried out, but their
 * responses are lost.
 */
type State = 'sound' | 'failing' | 'dead';

/**
 * Sits between a client and a MongoDB server and fails like a network. The server can then be
 * killed during writes without leaving one half done: a server with a journal never has half a
 * write after a crash, but a test server may.
 */
export class MongoRelay {
  readonly #server: Server;
  readonly #target: URL;
  readonly #sockets = new Set<Socket>();
  /** Writes that the server has not answered, by connection and request id. */
  readonly #underWay = new Map<Socket, Set<number>>();
  #state: State = 'sound';
  #lostRequests = 0;
  #lostAnswers = 0;
  #onDead: () => void = () => undefined;

  private constructor(target: URL) {
    this.#target = target;
    this.#server = createServer((client) => this.#serve(client));
  }

  static async open(url: string): Promise<MongoRelay> {
    const relay = new MongoRelay(new URL(url));
    relay.#server.listen(0, '127.0.0.1');
    await once(relay.#server, 'listening');
    return relay;
  }

  /** Replaces the server's port in a URL with the relay's. */
  urlOf(url: string): string {
    const relayed = new URL(url);
    relayed.port = String((this.#server.address() as AddressInfo).port);
    return relayed.href;
  }

  /**
   * Resolves when some writes were lost before and some after they were carried out, and the server
   * has no write in progress and will receive no more.
   */
  async fail(): Promise<void> {
    this.#state = 'failing';
    await new Promise<void>((resolve) => {
      this.#onDead = resolve;
    });
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
    await once(this.#server, 'close');
  }

  #serve(client: Socket): void {
    const server = connect(Number(this.#target.port), this.#target.hostname);
    const underWay = new Set<number>();
    this.#underWay.set(server, underWay);
    for (const [socket, other] of [
      [client, server],
      [server, client],
    ]) {
      this.#sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        this.#sockets.delete(socket);
        this.#underWay.delete(server);
        other.destroy();
      });
    }
    eachMessage(client, (message) => {
      if (isWrite(message)) {
        if (this.#isLostHere()) return;
        underWay.add(message.readInt32LE(4));
      }
      server.write(message);
    });
    eachMessage(server, (message) => {
      const isOfWrite = underWay.delete(message.readInt32LE(8));
      // Responses get through at first: the writers continue and send the requests to lose.
      if (isOfWrite && this.#state !== 'sound' && this.#lostRequests >= LOST_REQUESTS) this.#lostAnswers++;
      else client.write(message);
      this.#settle();
    });
  }

  #isLostHere(): boolean {
    const isLost = this.#state === 'dead' || (this.#state === 'failing' && this.#lostRequests < LOST_REQUESTS);
    if (isLost) this.#lostRequests++;
    return isLost;
  }

  /** Goes dead as soon as all conditions of `fail` hold. */
  #settle(): void {
    if (this.#state !== 'failing' || this.#lostRequests < LOST_REQUESTS || this.#lostAnswers === 0) return;
    if ([...this.#underWay.values()].some(({ size }) => size > 0)) return;
    this.#state = 'dead';
    this.#onDead();
  }
}

function isWrite(message: Buffer): boolean {
  const end = message.indexOf(0, NAME_AT);
  return end > 0 && WRITES.has(message.toString('latin1', NAME_AT, end));
}

/** Splits a stream into messages; each starts with its length. */
function eachMessage(socket: Socket, take: (message: Buffer) => void): void {
  let waiting: Buffer = Buffer.alloc(0);
  socket.on('data', (chunk: Buffer) => {
    waiting = waiting.length === 0 ? chunk : Buffer.concat([waiting, chunk]);
    while (waiting.length >= HEADER_BYTES && waiting.length >= waiting.readInt32LE(0)) {
      const length = waiting.readInt32LE(0);
      take(waiting.subarray(0, length));
      waiting = waiting.subarray(length);
    }
  });
}
