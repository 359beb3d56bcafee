import { TcpRelay } from '../../support/tcp-relay.ts';

const HEADER_BYTES = 16;
const OP_MSG = 2013;
/**
 * Offset of the document in the first section of an OP_MSG. It starts with its length, followed by
 * the type, name and value of its first field.
 */
const DOCUMENT_AT = HEADER_BYTES + 4 + 1;
const STRING = 2;

/** Relays to MongoDB and counts the requests as `<command> <collection>`. */
export class MongoOperations {
  readonly relay: TcpRelay;
  readonly #counts = new Map<string, number>();
  readonly #parts = new Map<number, Buffer>();

  private constructor(relay: TcpRelay) {
    this.relay = relay;
    relay.onSent = (bytes, connection) => this.#take(bytes, connection);
  }

  static async start(port: number): Promise<MongoOperations> {
    return new MongoOperations(await TcpRelay.start('127.0.0.1', port));
  }

  /** Returns the requests since the last call. */
  take(): Map<string, number> {
    const counts = new Map(this.#counts);
    this.#counts.clear();
    return counts;
  }

  #take(bytes: Buffer, connection: number): void {
    let rest = Buffer.concat([this.#parts.get(connection) ?? Buffer.alloc(0), bytes]);
    while (rest.length >= HEADER_BYTES) {
      const length = rest.readInt32LE(0);
      if (rest.length < length) break;
      this.#count(rest.subarray(0, length));
      rest = rest.subarray(length);
    }
    this.#parts.set(connection, rest);
  }

  #count(message: Buffer): void {
    if (message.readInt32LE(12) !== OP_MSG) return;
    const type = message[DOCUMENT_AT + 4];
    const nameAt = DOCUMENT_AT + 5;
    const valueAt = message.indexOf(0, nameAt) + 1;
    const name = message.toString('utf8', nameAt, valueAt - 1);
    const collection =
      type === STRING ? message.toString('utf8', valueAt + 4, valueAt + 3 + message.readInt32LE(valueAt)) : '';
    const operation = `${name} ${collection}`.trim();
    this.#counts.set(operation, (this.#counts.get(operation) ?? 0) + 1);
  }
}
