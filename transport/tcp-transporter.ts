/**
 * Moleculer's TCP transporter for the nodes of one machine, with its faults fixed.
 *
 * It accepts only packets that members of its cluster sealed, and listens on the loopback address
 * only. It discovers the other nodes. Messages may have any size. A node announces changes of its
 * services to all others at once. It counts another node as gone only if it cannot reach it itself,
 * and notices a restarted node within seconds.
 * See docs/internals/transport.md.
 */

import { once } from 'node:events';
import type { Server, Socket } from 'node:net';
import { Transporters } from 'moleculer';
import { ConnectionGate, TCP_HEADER_BYTES } from './connection-gate.ts';
import { LoopbackBeacon } from './loopback-beacon.ts';
import { SEAL_MAX_BYTES } from './packet-seal.ts';
import { SealedMessages, type TransportParts } from './sealed-messages.ts';
import { BEACON, HELLO } from './sealed-wire.ts';
import { failureResponse, type Packet } from './undelivered.ts';

interface TcpTransporterOptions extends TransportParts {
  /** Known nodes, `host:port/nodeID` separated by commas. If set, there is no discovery. */
  urls: string | undefined;
}

const LOOPBACK = '127.0.0.1';
const INFO = 'INFO';
const GOSSIP = 'GOSSIP_RES';
const GOSSIP_REQUEST = 'GOSSIP_REQ';

/** `[info]`, `[info, load's number, load]` or `[load's number, load]`. */
type GossipRow = [unknown] | [unknown, number, number] | [number, number];

interface GossipPayload {
  online?: Record<string, GossipRow>;
  /** Sequence numbers of nodes that are gone. */
  offline?: Record<string, number>;
}

/** The first packet of a connection. */
interface Hello {
  sender: string;
  port: number;
}

export class TcpTransporter extends Transporters.TCP {
  readonly #options: TcpTransporterOptions;
  #messages!: SealedMessages;
  #strangers!: ConnectionGate;
  #beacon: LoopbackBeacon | null = null;

  constructor(options: TcpTransporterOptions) {
    super({ udpDiscovery: false, urls: options.urls, gossipPeriod: 1 } as Transporters.TCP['opts']);
    this.#options = options;
  }

  override init(...args: Parameters<Transporters.TCP['init']>): void {
    super.init(...args);
    const { log, limits } = this.#options;
    const wire = (cmd: string, target: string | null, packet: Buffer) =>
      super.send(cmd, packet, { packet: { type: cmd, target } });
    const parts = { ...this.#options, limits: { ...limits, packetMaxBytes: limits.tcpPacketMaxBytes } };
    this.#messages = new SealedMessages(this, wire, parts, {
      // Calls to a peer that this does not reach fail after a while.
      announce: (nodeID) => void this.sendHello(nodeID).catch(() => undefined),
      onMember: (nodeID) => this.#tell([nodeID]),
    });
    this.#strangers = new ConnectionGate({
      log,
      packetMaxBytes: TCP_HEADER_BYTES + limits.tcpPacketMaxBytes + SEAL_MAX_BYTES,
      strangersMax: limits.strangersMax,
      strangerMaxMs: limits.strangerMaxMs,
    });
    this.broker.localBus.on('$node.connected', ({ node }: { node: { id: string } }) => this.#tell([node.id]));
  }

  override async startTcpServer(): Promise<void> {
    await super.startTcpServer();
    const { server, sockets } = (this as unknown as { reader: { server: Server; sockets: Socket[] } }).reader;
    const closed = once(server, 'close');
    server.close();
    for (const socket of sockets) socket.destroy();
    await closed;
    server.prependListener('connection', (socket) => this.#strangers.watch(socket));
    server.listen({ host: LOOPBACK, port: this.opts.port, exclusive: true });
    await once(server, 'listening');
  }

  /**
   * Numbers this process's changes from the wall clock, so that they exceed those of earlier
   * processes of this name, unless the clock was set back.
   */
  override async connect(): Promise<void> {
    this.registry.nodes.localNode!.seq = Date.now();
    await super.connect();
  }

  /** Replaces Moleculer's discovery, which does not authenticate nodes. */
  override async startUdpServer(): Promise<void> {
    if (this.#options.urls !== undefined) return;
    this.#beacon = new LoopbackBeacon({
      log: this.#options.log,
      say: () => this.#messages.sealed.sealForAll(BEACON, Buffer.from(String(this.opts.port))),
      heard: (bytes) => this.#heard(bytes),
    });
    await this.#beacon.start();
  }

  /** Handles another local node's announcement of where it listens. */
  #heard(bytes: Buffer): void {
    const beacon = this.#messages.sealed.open(BEACON, bytes);
    if (beacon === null || beacon.sender === this.nodeID) return;
    const port = Number(beacon.packet.toString('utf8'));
    const node = this.nodes.get(beacon.sender);
    if (!node) this.addOfflineNode(beacon.sender, LOOPBACK, port);
    else if (!node.available) node.port = port;
  }

  override getNodeAddress(): string {
    return LOOPBACK;
  }

  override async disconnect(): Promise<void> {
    await this.#messages.channel.drain();
    this.#beacon?.close();
    await super.disconnect();
    this.#messages.close();
    this.#strangers.close();
  }

  override async prepublish(packet: Packet): Promise<void> {
    if (packet.type === INFO && packet.target == null) {
      this.#tellAll();
      return;
    }
    try {
      await super.prepublish(packet);
    } catch (error) {
      const instead = failureResponse(packet, this, error);
      if (instead === null) throw error;
      await super.prepublish(instead);
    }
  }

  #tellAll(): void {
    this.#tell(this.nodes.toArray().flatMap(({ id, local, available }) => (local || !available ? [] : [id])));
  }

  /**
   * Sends this node's info to nodes. One that it does not reach gets it by gossip. Only
   * `disconnect` waits for it, for a limited time.
   */
  #tell(nodes: string[]): void {
    const online = { [this.nodeID]: [this.registry.getLocalNodeInfo()] };
    // Gossip makes up for a packet that is lost.
    for (const target of nodes) super.prepublish({ type: GOSSIP, target, payload: { online } }).catch(() => undefined);
  }

  override async send(cmd: string, data: Buffer, { packet }: { packet: Packet }): Promise<void> {
    await this.#messages.send(cmd, packet, data);
  }

  /** Moleculer's timer measures the CPU load first, so it may call this after the disconnect. */
  override sendGossipRequest(): void {
    if (this.connected) super.sendGossipRequest();
  }

  /**
   * Removes the nodes that others consider gone, except this one, which has to refute that. Also
   * removes the load of nodes that this one considers gone.
   */
  override deserialize(type: string, data: Buffer): Packet {
    const packet = super.deserialize(type, data) as unknown as Packet;
    if (type === HELLO) this.#greeted(packet.payload as unknown as Hello);
    if (type !== GOSSIP && type !== GOSSIP_REQUEST) return packet;
    const { payload } = packet as unknown as { payload: GossipPayload };
    if (type === GOSSIP) payload.online = withoutLoad(payload.online, (id) => this.nodes.get(id)?.available === false);
    const seq = payload.offline?.[this.nodeID];
    payload.offline = seq === undefined ? {} : { [this.nodeID]: seq };
    return packet;
  }

  /** Updates the port of a restarted node, to which responses must go. */
  #greeted({ sender, port }: Hello): void {
    const node = this.nodes.get(sender);
    if (node && !node.available) node.port = port;
  }

  override receive(...[cmd, packet, socket]: Parameters<Transporters.TCP['receive']>): void | Promise<void> {
    const message = this.#messages.receive(cmd, packet, () => this.#strangers.markAuthenticated(socket));
    if (message !== null) return super.receive(cmd, message, socket);
  }
}

function withoutLoad(rows: Record<string, GossipRow> = {}, isGone: (id: string) => boolean): Record<string, GossipRow> {
  const kept = Object.entries(rows).flatMap(([id, row]): [string, GossipRow][] => {
    if (!isGone(id)) return [[id, row]];
    return row.length === 2 ? [] : [[id, [row[0]]]];
  });
  return Object.fromEntries(kept);
}
