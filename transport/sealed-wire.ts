/**
 * The wire between the nodes of an installation: seals their packets (packet-seal.ts) and passes on
 * only packets that they sealed.
 *
 * A reader of the wire learns which nodes send when, and the type and length of packets. A writer
 * to the wire can only drop or delay packets. No packet for an earlier session of this process is
 * accepted, and none is accepted twice.
 * A packet for a node that is not a member, or does not respond, rejects after `memberWaitMaxMs`
 * with NoReceiver. Members can impersonate each other.
 * See docs/internals/transport.md.
 */

import { randomBytes } from 'node:crypto';
import type { Logger } from 'pino';
import { firstOf } from '../lib/checked-access.ts';
import type { Keyring } from '../lib/secret/keyring.ts';
import { RepeatedLines } from '../process/repeated-lines.ts';
import type { Wire } from './message-channel.ts';
import { NoReceiver } from './outbound-messages.ts';
import { PacketCounters } from './packet-counters.ts';
import { headerOf, type PacketContent, sealPacket, TransportKey } from './packet-seal.ts';
import { PeerSession } from './peer.ts';
import type { DropReason, TransportMetrics } from './transport-metrics.ts';

/**
 * Packet types that announce where a node listens, so that others can prove themselves to it. They
 * have no other effect, so they need no proof of the sender.
 */
export const HELLO = 'GOSSIP_HELLO';
export const BEACON = 'BEACON';
/** Moleculer's type of packets that are addressed to one node, also used for proofs. */
const ADDRESSED = 'RES';
/** Minimum interval between proofs sent to the same peer. */
const PROVED_AGAIN_MS = 1_000;
/** Maximum number of unproven peers. Only replays, or many starts at once, cause many. */
const UNPROVEN_MAX = 1_024;

export interface SealedWireOptions {
  nodeID: string;
  namespace: string;
  keys: Keyring;
  log: Logger;
  metrics: TransportMetrics;
  memberWaitMaxMs: number;
  monotonicMs(): number;
  /** Announces this node to a peer whose session is unknown. */
  announce(nodeID: string): void;
  /** Called when a process of a node has proven itself and its packets are passed on. */
  onMember(nodeID: string): void;
}

/** A packet that a member sealed, or that announces where a node listens. */
type OpenedPacket = Pick<PacketContent, 'sender' | 'packet'>;

interface AwaitedMember {
  promise: Promise<PeerSession>;
  settle(outcome: PeerSession | Error): void;
}

export class SealedWire {
  readonly #wire: Wire;
  readonly #options: SealedWireOptions;
  readonly #keys: [TransportKey, ...TransportKey[]];
  readonly #session = randomBytes(16);
  readonly #allKey: Buffer;
  #lastBroadcast = 0n;
  /** Outlives every peer: a peer that is forgotten and returns continues under the same key. */
  readonly #counters = new PacketCounters();
  /** All proven peers, by session. None is forgotten, so that their packets cannot be replayed. */
  readonly #proven = new Map<string, PeerSession>();
  readonly #unproven = new Map<string, PeerSession>();
  /** The newest process of each node. */
  readonly #members = new Map<string, PeerSession>();
  readonly #awaited = new Map<string, AwaitedMember>();
  readonly #repeated = new RepeatedLines();

  constructor(wire: Wire, options: SealedWireOptions) {
    this.#wire = wire;
    this.#options = options;
    const { namespace } = options;
    const [current, ...earlier] = options.keys;
    this.#keys = [new TransportKey(current, namespace), ...earlier.map((key) => new TransportKey(key, namespace))];
    this.#allKey = this.#keys[0].forAll(this.#session);
  }

  /** Rejects with NoReceiver or the wire's error. */
  readonly send: Wire = async (cmd, target, packet) => {
    if (target === null || cmd === HELLO) return this.#wire(cmd, target, this.sealForAll(cmd, packet));
    // Does not await a known peer, so that packets to one node keep their order.
    const peer = this.#members.get(target) ?? (await this.#member(target));
    return this.#wire(cmd, target, peer.seal(cmd, this.#content(packet)));
  };

  sealForAll(cmd: string, packet: Buffer): Buffer {
    this.#lastBroadcast += 1n;
    const header = { isForAll: true, keyId: this.#keys[0].id, session: this.#session, counter: this.#lastBroadcast };
    return sealPacket(this.#allKey, header, cmd, this.#content(packet));
  }

  /**
   * Returns the content of a packet that may be passed on. Calls `onShown` if a member sent it now:
   * it was sealed for this process and is not a replay.
   */
  open(cmd: string, sealed: Buffer, onShown?: () => void): OpenedPacket | null {
    const header = headerOf(sealed);
    if (header === null) return this.#dropped('unsealed', cmd);
    // Redis returns a node's own broadcasts.
    if (header.session.equals(this.#session)) return null;
    const key = this.#keys.find(({ id }) => id.equals(header.keyId));
    if (!key) return this.#dropped('other secret', cmd);
    const place = sessionKey(header.session);
    const peer = this.#proven.get(place) ?? this.#unproven.get(place) ?? this.#newPeer(header.session);
    const content = peer.open(header, key, cmd, sealed);
    if (content === null) return this.#dropped('not for this process', cmd);
    peer.nodeID ??= content.sender;
    // Broadcasts are checked for replays once their sender is proven.
    const window = header.isForAll ? peer.isProven && peer.toAll : peer.toOne;
    if (window && !window.take(header.counter)) return this.#dropped('replayed', cmd);
    if (header.isForAll) return this.#takeForAll(peer, content, cmd);
    onShown?.();
    return this.#takeForOne(peer, content);
  }

  close(): void {
    for (const [nodeID, awaited] of this.#awaited) awaited.settle(new NoReceiver(nodeID));
    this.#repeated.close();
  }

  #newPeer(session: Buffer): PeerSession {
    return new PeerSession(session, this.#session, this.#keys, this.#counters.series());
  }

  #takeForAll(peer: PeerSession, content: PacketContent, cmd: string): OpenedPacket | null {
    const saysWhere = cmd === HELLO || cmd === BEACON;
    // A proven peer sends a HELLO too, when it waits for a proof that was lost.
    if (!peer.isProven || cmd === HELLO) this.#heardOf(peer);
    return peer.isProven || saysWhere ? content : null;
  }

  #takeForOne(peer: PeerSession, content: PacketContent): OpenedPacket | null {
    if (!peer.isProven) this.#admit(peer, content.lastBroadcast);
    if (content.asksForProof) this.#prove(peer);
    return content.isProof ? null : content;
  }

  #admit(peer: PeerSession, lastBroadcast: bigint): void {
    const nodeID = peer.nodeID!;
    const place = sessionKey(peer.session);
    this.#unproven.delete(place);
    this.#proven.set(place, peer);
    peer.isProven = true;
    // Earlier broadcasts may be replays, so only later ones are trusted.
    peer.toAll.startAfter(lastBroadcast);
    this.#members.set(nodeID, peer);
    this.#awaited.get(nodeID)?.settle(peer);
    this.#options.onMember(nodeID);
  }

  #heardOf(peer: PeerSession): void {
    if (!peer.isProven) this.#unproven.set(sessionKey(peer.session), peer);
    if (this.#unproven.size > UNPROVEN_MAX) this.#unproven.delete(firstOf(this.#unproven.keys()));
    const monotonicMs = this.#options.monotonicMs();
    if (monotonicMs - peer.provedMs < PROVED_AGAIN_MS) return;
    peer.provedMs = monotonicMs;
    // Deferred, because the peer's address is known only after the announcement has been processed.
    queueMicrotask(() => this.#prove(peer));
  }

  #prove(peer: PeerSession): void {
    const content = { ...this.#content(Buffer.alloc(0)), isProof: true, asksForProof: !peer.isProven };
    this.#wire(ADDRESSED, peer.nodeID!, peer.seal(ADDRESSED, content)).catch((error: unknown) =>
      this.#options.log.debug({ err: error }, 'could not authenticate to another node'),
    );
  }

  #content(packet: Buffer): PacketContent {
    const { nodeID } = this.#options;
    return { isProof: false, asksForProof: false, lastBroadcast: this.#lastBroadcast, sender: nodeID, packet };
  }

  /** Returns the process of a node once it has proven itself. */
  #member(nodeID: string): Promise<PeerSession> {
    const known = this.#awaited.get(nodeID);
    if (known) return known.promise;
    const { promise, resolve, reject } = Promise.withResolvers<PeerSession>();
    const settle = (outcome: PeerSession | Error): void => {
      clearTimeout(timer);
      this.#awaited.delete(nodeID);
      if (outcome instanceof PeerSession) resolve(outcome);
      else reject(outcome);
    };
    const timer = setTimeout(() => settle(new NoReceiver(nodeID)), this.#options.memberWaitMaxMs).unref();
    this.#awaited.set(nodeID, { promise, settle });
    this.#options.announce(nodeID);
    return promise;
  }

  #dropped(reason: DropReason, cmd: string): null {
    // Clusters of other data folders announce themselves on the same port.
    if (cmd === BEACON) return null;
    this.#options.metrics.drops.inc({ reason });
    // After a restart of this process, others seal for its previous session until they meet it.
    if (reason === 'not for this process') return null;
    this.#repeated.write(`${reason} ${cmd}`, (fields) =>
      this.#options.log.warn(
        { reason, type: cmd, ...fields },
        'a packet that no member of this cluster sealed was dropped',
      ),
    );
    return null;
  }
}

const sessionKey = (session: Buffer): string => session.toString('latin1');
