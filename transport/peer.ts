import { openPacket, type PacketContent, type PacketHeader, sealPacket, type TransportKey } from './packet-seal.ts';
import { ReplayWindow } from './replay-window.ts';

/** A process of another node: the keys shared with it, and the packets received from it. */
export class PeerSession {
  readonly session: Buffer;
  /** Packets addressed to this process. */
  readonly toOne = new ReplayWindow();
  /** Broadcasts. */
  readonly toAll = new ReplayWindow();
  /** Name of its node, as given in a sealed packet; null before the first one. */
  nodeID: string | null = null;
  /** Whether it has sealed a packet for this process's session, which a replay cannot contain. */
  isProven = false;
  /** When this process last proved itself to the peer, on the monotonic clock. */
  provedMs = Number.NEGATIVE_INFINITY;
  readonly #own: Buffer;
  readonly #keys: readonly [TransportKey, ...TransportKey[]];
  readonly #inKeys = new Map<TransportKey, { forAll: Buffer; forOne: Buffer }>();
  #outKey: Buffer | null = null;
  readonly #nextCounter: () => bigint;

  /** `own` is this process's session. `nextCounter` never returns another peer's counter. */
  constructor(
    session: Buffer,
    own: Buffer,
    keys: readonly [TransportKey, ...TransportKey[]],
    nextCounter: () => bigint,
  ) {
    // Copied, because it is a view of a received packet.
    this.session = Buffer.from(session);
    this.#own = own;
    this.#keys = keys;
    this.#nextCounter = nextCounter;
  }

  /** Seals a packet for this peer only. */
  seal(cmd: string, content: PacketContent): Buffer {
    const [key] = this.#keys;
    this.#outKey ??= key.forOne(this.#own, this.session);
    const header = { isForAll: false, keyId: key.id, session: this.#own, counter: this.#nextCounter() };
    return sealPacket(this.#outKey, header, cmd, content);
  }

  /** Returns null unless this peer sealed the packet as a broadcast or for this process. */
  open({ isForAll }: PacketHeader, key: TransportKey, cmd: string, sealed: Buffer): PacketContent | null {
    let keys = this.#inKeys.get(key);
    if (!keys) {
      keys = { forAll: key.forAll(this.session), forOne: key.forOne(this.session, this.#own) };
      this.#inKeys.set(key, keys);
    }
    return openPacket(isForAll ? keys.forAll : keys.forOne, cmd, sealed);
  }
}
