import { type Content, type Header, openPacket, sealPacket, type TransportKey } from './packet-seal.ts';
import { ReplayWindow } from './replay-window.ts';

/**
 * One life of another process, as this one knows it: the keys between the two, and which packets
 * were taken.
 */
export class Peer {
  readonly session: Buffer;
  /** What it says to this process. */
  readonly toOne = new ReplayWindow();
  /** What it says to all. */
  readonly toAll = new ReplayWindow();
  /** Its node's name, as it said under its seal; null until it did. */
  nodeID: string | null = null;
  /**
   * Whether it sealed something for this process: nobody can play that again who has only listened.
   */
  isProven = false;
  /** When this process last proved itself to it, on the monotonic clock. */
  provedMs = Number.NEGATIVE_INFINITY;
  readonly #own: Buffer;
  readonly #keys: readonly [TransportKey, ...TransportKey[]];
  readonly #inKeys = new Map<TransportKey, { forAll: Buffer; forOne: Buffer }>();
  #outKey: Buffer | null = null;
  readonly #nextCounter: () => bigint;

  /** `own`: the session of this process; `nextCounter`: never gives what it gave another peer. */
  constructor(
    session: Buffer,
    own: Buffer,
    keys: readonly [TransportKey, ...TransportKey[]],
    nextCounter: () => bigint,
  ) {
    // Of its own, not a view of the packet that it came in.
    this.session = Buffer.from(session);
    this.#own = own;
    this.#keys = keys;
    this.#nextCounter = nextCounter;
  }

  /** For it alone. */
  seal(cmd: string, content: Content): Buffer {
    const [key] = this.#keys;
    this.#outKey ??= key.forOne(this.#own, this.session);
    const header = { isForAll: false, keyId: key.id, session: this.#own, counter: this.#nextCounter() };
    return sealPacket(this.#outKey, header, cmd, content);
  }

  /** Null where it did not seal that, or sealed it for another. */
  open({ isForAll }: Header, key: TransportKey, cmd: string, sealed: Buffer): Content | null {
    let keys = this.#inKeys.get(key);
    if (!keys) {
      keys = { forAll: key.forAll(this.session), forOne: key.forOne(this.session, this.#own) };
      this.#inKeys.set(key, keys);
    }
    return openPacket(isForAll ? keys.forAll : keys.forOne, cmd, sealed);
  }
}
