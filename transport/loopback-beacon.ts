/**
 * Announces this process's port to the other processes of this machine and receives their
 * announcements, by UDP on the loopback interface.
 *
 * Nothing leaves the machine or comes from outside. Any local process can send, so the receiver
 * must authenticate announcements.
 */
import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import type { Logger } from 'pino';

const PORT = 4_445;
const LOOPBACK = '127.0.0.1';
const LOOPBACK_BROADCAST = '127.255.255.255';
const GROUP = '239.0.0.0';
/** Delay of a second announcement, for processes that start together. */
const AGAIN_MS = 1_000;
const PERIOD_MS = 30_000;
const BEACON_MAX_BYTES = 1_024;

interface BeaconOptions {
  log: Pick<Logger, 'warn' | 'debug'>;
  /** Returns the announcement to send. */
  say(): Buffer;
  heard(bytes: Buffer): void;
}

export class LoopbackBeacon {
  readonly #options: BeaconOptions;
  readonly #timers: NodeJS.Timeout[] = [];
  #socket: Socket | null = null;

  constructor(options: BeaconOptions) {
    this.#options = options;
  }

  /** Resolves when it listens or cannot; then it finds only nodes that connect to this one. */
  async start(): Promise<void> {
    const socket = createSocket({ type: 'udp4', reuseAddr: true });
    socket.on('message', (bytes) => {
      if (bytes.length <= BEACON_MAX_BYTES) this.#options.heard(bytes);
    });
    try {
      // On Linux, a socket bound to the loopback broadcast address receives nothing from outside.
      const isLinux = process.platform === 'linux';
      socket.bind({ port: PORT, exclusive: true, ...(isLinux ? { address: LOOPBACK_BROADCAST } : {}) });
      await once(socket, 'listening');
      if (isLinux) socket.setBroadcast(true);
      else joinGroup(socket);
    } catch (error) {
      this.#options.log.warn({ err: error }, 'cannot listen for other nodes on this machine');
      socket.close();
      return;
    }
    socket.on('error', (error) =>
      this.#options.log.warn({ err: error }, 'listening for other nodes on this machine failed'),
    );
    socket.unref();
    this.#socket = socket;
    this.#say();
    this.#timers.push(
      setTimeout(() => this.#say(), AGAIN_MS).unref(),
      setInterval(() => this.#say(), PERIOD_MS).unref(),
    );
  }

  close(): void {
    for (const timer of this.#timers.splice(0)) clearTimeout(timer);
    this.#socket?.close();
    this.#socket = null;
  }

  #say(): void {
    const to = process.platform === 'linux' ? LOOPBACK_BROADCAST : GROUP;
    this.#socket?.send(this.#options.say(), PORT, to, (error) => {
      if (error) this.#options.log.debug({ err: error }, 'could not announce this node');
    });
  }
}

function joinGroup(socket: Socket): void {
  socket.setMulticastInterface(LOOPBACK);
  socket.addMembership(GROUP, LOOPBACK);
  socket.setMulticastTTL(1);
}
