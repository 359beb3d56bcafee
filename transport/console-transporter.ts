/**
 * Connects consoles to a single-process service over a Unix socket in its data folder. The service
 * listens and relays packets between consoles.
 *
 * Only the owner of the data folder can connect (mode 0600). A socket left by a killed service is
 * replaced. A console that does not read costs the service a bounded amount of memory.
 * If the service cannot listen, it logs a warning and runs without. A console calls `onEnd` when
 * its service ends.
 */
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { Transporters } from 'moleculer';
import type { Logger } from 'pino';

const FILE = 'console.sock';
/** The operating system's limit for the path of a socket. */
const PATH_MAX_BYTES = 103;
const OWNER_ONLY = 0o177;
const LENGTH_BYTES = 4;
const FRAME_MAX_BYTES = 256 * 1024 * 1024;
/** Maximum bytes queued for a console that does not read. */
const UNREAD_MAX_BYTES = 64 * 1024 * 1024;

export type ConsoleEnd =
  | { side: 'service'; dataDir: string; log: Logger }
  | { side: 'console'; dataDir: string; onEnd(): void };

export const consoleSocket = (dataDir: string): string => join(dataDir, FILE);

export class ConsoleTransporter extends Transporters.Base {
  readonly #end: ConsoleEnd;
  readonly #path: string;
  readonly #peers = new Set<Socket>();
  readonly #commands = new Map<string, string>();
  #server: Server | null = null;

  constructor(end: ConsoleEnd) {
    super();
    this.#end = end;
    this.#path = consoleSocket(end.dataDir);
  }

  override async connect(): Promise<void> {
    if (this.#end.side === 'console') await this.#join(this.#end.onEnd);
    else await this.#listen(this.#end.log);
    await this.onConnected(false);
  }

  override async disconnect(): Promise<void> {
    this.connected = false;
    const ended = [...this.#peers].map((peer) => (peer.destroyed ? null : once(peer.end(), 'close')));
    if (this.#end.side === 'console') await Promise.all(ended);
    for (const peer of this.#peers) peer.destroy();
    // Closing the server removes the socket file.
    this.#server?.close();
  }

  override async subscribe(command: string, nodeID?: string): Promise<void> {
    this.#commands.set(this.getTopicName(command, nodeID ?? ''), command);
  }

  // Every node knows where each action runs, so the transporter balances nothing.
  override async subscribeBalancedRequest(): Promise<void> {}
  override async subscribeBalancedEvent(): Promise<void> {}

  override async send(topic: string, data: Buffer): Promise<void> {
    for (const peer of this.#peers) writeFrame(peer, topic, data);
  }

  async #join(onEnd: () => void): Promise<void> {
    const socket = connect(this.#path);
    await once(socket, 'connect');
    this.#watch(socket);
    socket.once('close', () => {
      if (this.connected) onEnd();
    });
  }

  async #listen(log: Logger): Promise<void> {
    try {
      if (Buffer.byteLength(this.#path) > PATH_MAX_BYTES)
        throw new Error(`the path of ${this.#path} is longer than ${PATH_MAX_BYTES} bytes`);
      rmSync(this.#path, { force: true });
      const server = createServer((socket) => this.#watch(socket));
      const mask = process.umask(OWNER_ONLY);
      try {
        server.listen(this.#path);
      } finally {
        process.umask(mask);
      }
      await once(server, 'listening');
      server.on('error', (error) => log.warn({ err: error }, 'the console socket failed'));
      this.#server = server;
    } catch (error) {
      log.warn({ err: error }, 'npm run repl cannot join this service, which continues without');
    }
  }

  #watch(socket: Socket): void {
    this.#peers.add(socket);
    // The `close` event follows and handles it.
    socket.on('error', () => undefined);
    socket.once('close', () => this.#peers.delete(socket));
    const frames = new FrameSplitter();
    socket.on('data', (bytes: Buffer) => {
      for (const frame of frames.take(bytes)) {
        if (frame === null) return socket.destroy();
        this.#receive(socket, frame.topic, frame.data);
      }
    });
  }

  #receive(from: Socket, topic: string, data: Buffer): void {
    const command = this.#commands.get(topic);
    if (command !== undefined) this.receive(command, data);
    if (this.#end.side === 'console' || topic.endsWith(`.${this.nodeID}`)) return;
    for (const peer of this.#peers) if (peer !== from) writeFrame(peer, topic, data);
  }
}

interface ConsoleFrame {
  topic: string;
  data: Buffer;
}

/** Writes a frame: the length of the rest, the length of the topic, the topic, the data. */
function writeFrame(peer: Socket, topic: string, data: Buffer): void {
  if (peer.writableLength > UNREAD_MAX_BYTES) {
    peer.destroy();
    return;
  }
  const name = Buffer.from(topic);
  const head = Buffer.alloc(2 * LENGTH_BYTES);
  head.writeUInt32BE(LENGTH_BYTES + name.length + data.length);
  head.writeUInt32BE(name.length, LENGTH_BYTES);
  peer.write(Buffer.concat([head, name, data]));
}

/** Splits the bytes of a connection into frames. */
class FrameSplitter {
  #held: Buffer[] = [];
  #bytes = 0;
  #wanted = LENGTH_BYTES;

  /** Yields null, as its last item, for an invalid frame. */
  *take(bytes: Buffer): Iterable<ConsoleFrame | null> {
    this.#held.push(bytes);
    this.#bytes += bytes.length;
    while (this.#bytes >= this.#wanted) {
      const all = Buffer.concat(this.#held);
      const length = all.readUInt32BE();
      const end = LENGTH_BYTES + length;
      const topicBytes = length < LENGTH_BYTES || all.length < 2 * LENGTH_BYTES ? 0 : all.readUInt32BE(LENGTH_BYTES);
      if (length > FRAME_MAX_BYTES || length < LENGTH_BYTES || topicBytes > length - LENGTH_BYTES) return yield null;
      const isWhole = all.length >= end;
      const rest = isWhole ? all.subarray(end) : all;
      this.#held = [rest];
      this.#bytes = rest.length;
      this.#wanted = isWhole ? LENGTH_BYTES : end;
      if (!isWhole) return;
      const at = 2 * LENGTH_BYTES;
      yield { topic: all.toString('utf8', at, at + topicBytes), data: all.subarray(at + topicBytes, end) };
    }
  }
}
