/**
 * Sealed packets between nodes: AES-256-GCM, with a key for a process's broadcasts and one for each
 * process that it sends to.
 *
 * The header and Moleculer's packet type are authenticated with the packet. The counter is the
 * nonce; the caller must never repeat it with the same key (packet-counters.ts).
 * See docs/internals/transport.md.
 */
import { createCipheriv, createDecipheriv, hkdfSync } from 'node:crypto';

const FORMAT = 0xe1;
const KEY_ID_BYTES = 4;
const SESSION_BYTES = 16;
const HEADER_BYTES = 2 + KEY_ID_BYTES + SESSION_BYTES + 8;
const TAG_BYTES = 16;
const INNER_HEAD_BYTES = 1 + 8 + 1;
const NAME_MAX_BYTES = 255;
const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const ALGORITHM = 'aes-256-gcm';
const PROOF = 1;
const ASKS = 2;

/** Maximum number of bytes that sealing adds to a packet. */
export const SEAL_MAX_BYTES = HEADER_BYTES + INNER_HEAD_BYTES + NAME_MAX_BYTES + TAG_BYTES;

/** A key derived from one of the installation's secrets for a namespace. */
export class TransportKey {
  /** First 4 bytes of a derived value, by which a packet names its key. */
  readonly id: Buffer;
  readonly #key: Uint8Array;
  readonly #namespace: string;

  constructor(key: Uint8Array, namespace: string) {
    this.#key = key;
    this.#namespace = namespace;
    this.id = this.#derived('key id', Buffer.alloc(0)).subarray(0, KEY_ID_BYTES);
  }

  /** Returns the key for broadcasts of the process with session `sender`. */
  forAll(sender: Buffer): Buffer {
    return this.#derived('for all', sender);
  }

  /** Returns the key for packets from the process of one session to that of another. */
  forOne(sender: Buffer, receiver: Buffer): Buffer {
    return this.#derived('for one', Buffer.concat([sender, receiver]));
  }

  #derived(purpose: string, salt: Buffer): Buffer {
    return Buffer.from(hkdfSync('sha256', this.#key, salt, `PV1 transport ${this.#namespace} ${purpose}`, KEY_BYTES));
  }
}

export interface PacketHeader {
  isForAll: boolean;
  keyId: Buffer;
  session: Buffer;
  counter: bigint;
}

export interface PacketContent {
  /** Whether it only proves that the sender has the key and knows the receiver's session. */
  isProof: boolean;
  /** Whether the sender has no such proof from the receiver. */
  asksForProof: boolean;
  /** Counter of the sender's last broadcast. */
  lastBroadcast: bigint;
  sender: string;
  packet: Buffer;
}

/** Throws RangeError if the node's name is too long. */
export function sealPacket(key: Buffer, header: PacketHeader, cmd: string, content: PacketContent): Buffer {
  const name = Buffer.from(content.sender, 'utf8');
  if (name.length > NAME_MAX_BYTES) throw new RangeError(`A node's name is longer than ${NAME_MAX_BYTES} bytes.`);
  const head = encodeHeader(header);
  const inner = Buffer.alloc(INNER_HEAD_BYTES);
  inner[0] = (content.isProof ? PROOF : 0) | (content.asksForProof ? ASKS : 0);
  inner.writeBigUInt64BE(content.lastBroadcast, 1);
  inner[9] = name.length;
  const cipher = createCipheriv(ALGORITHM, key, nonceOf(head), { authTagLength: TAG_BYTES });
  cipher.setAAD(Buffer.concat([head, Buffer.from(cmd, 'utf8')]));
  const parts = [head, cipher.update(inner), cipher.update(name), cipher.update(content.packet), cipher.final()];
  return Buffer.concat([...parts, cipher.getAuthTag()]);
}

/** Returns null for bytes that are not a sealed packet. */
export function headerOf(sealed: Buffer): PacketHeader | null {
  const isWhole = sealed.length >= HEADER_BYTES + INNER_HEAD_BYTES + TAG_BYTES;
  if (!isWhole || sealed.readUInt8(0) !== FORMAT || sealed.readUInt8(1) > 1) return null;
  return {
    isForAll: sealed.readUInt8(1) === 0,
    keyId: sealed.subarray(2, 2 + KEY_ID_BYTES),
    session: sealed.subarray(2 + KEY_ID_BYTES, 2 + KEY_ID_BYTES + SESSION_BYTES),
    counter: sealed.readBigUInt64BE(HEADER_BYTES - 8),
  };
}

/** Returns null unless the packet was sealed with this key and this type. */
export function openPacket(key: Buffer, cmd: string, sealed: Buffer): PacketContent | null {
  const head = sealed.subarray(0, HEADER_BYTES);
  const decipher = createDecipheriv(ALGORITHM, key, nonceOf(head), { authTagLength: TAG_BYTES });
  decipher.setAAD(Buffer.concat([head, Buffer.from(cmd, 'utf8')]));
  decipher.setAuthTag(sealed.subarray(-TAG_BYTES));
  const inner = decipher.update(sealed.subarray(HEADER_BYTES, -TAG_BYTES));
  try {
    decipher.final();
  } catch {
    return null;
  }
  const flags = inner.readUInt8(0);
  const nameEnd = INNER_HEAD_BYTES + inner.readUInt8(9);
  return {
    isProof: (flags & PROOF) !== 0,
    asksForProof: (flags & ASKS) !== 0,
    lastBroadcast: inner.readBigUInt64BE(1),
    sender: inner.toString('utf8', INNER_HEAD_BYTES, nameEnd),
    packet: inner.subarray(nameEnd),
  };
}

function encodeHeader({ isForAll, keyId, session, counter }: PacketHeader): Buffer {
  const head = Buffer.alloc(HEADER_BYTES);
  head[0] = FORMAT;
  head[1] = isForAll ? 0 : 1;
  keyId.copy(head, 2);
  session.copy(head, 2 + KEY_ID_BYTES);
  head.writeBigUInt64BE(counter, HEADER_BYTES - 8);
  return head;
}

function nonceOf(head: Buffer): Buffer {
  const nonce = Buffer.alloc(NONCE_BYTES);
  head.copy(nonce, NONCE_BYTES - 8, HEADER_BYTES - 8);
  return nonce;
}
