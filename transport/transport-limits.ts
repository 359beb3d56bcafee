import { MIB } from '../lib/mib.ts';

/** Bounds of traffic between nodes. Clients cannot change them. */
export const TRANSPORT_LIMITS = Object.freeze({
  /** Packet with its frame: small enough for heartbeats to get in between. */
  packetMaxBytes: 512 * 1024,
  /**
   * Packet over TCP: what a socket delivers at once. Moleculer's reader copies an unfinished packet
   * each time more arrives.
   */
  tcpPacketMaxBytes: 60 * 1024,
  /** TCP connections on which no member has authenticated yet: 30 MiB of unfinished packets. */
  strangersMax: 512,
  /** How long such a connection is kept; members authenticate in milliseconds. */
  strangerMaxMs: 5_000,
  messageMaxBytes: 256 * MIB,
  /** Bytes of one message that its receiver has not yet acknowledged. */
  messageWindowMaxBytes: 2 * MIB,
  /** Messages in parts that a node sends at once; others wait. */
  messagesInPartsMax: 32,
  turnWaitMaxMs: 10_000,
  acknowledgementWaitMaxMs: 10_000,
  /** Memory for incomplete messages. */
  incompleteMaxBytes: 512 * MIB,
  incompletePerNodeMaxBytes: 256 * MIB,
  incompletePerNodeMax: 64,
  /** Age since the last part; longer than the sender waits. */
  incompleteMaxAgeMs: 15_000,
  /** How long a stopping node waits for pending sends. */
  drainMaxMs: 5_000,
  /** How long a response waits for a lost connection to come back. */
  answerHeldMaxMs: 10_000,
  /** Time after which a node that no message reaches counts as gone. */
  absentMaxMs: 1_000,
  /** How long a packet waits for its receiver to prove that it is a member. */
  memberWaitMaxMs: 2_000,
  redisConnectMaxMs: 5_000,
  /** Time without a reply after which a Redis connection is closed. */
  redisReplyMaxMs: 5_000,
  reconnectMinMs: 100,
  reconnectMaxMs: 2_000,
  /** How long a start waits for Redis. */
  redisAtStartMaxMs: 20_000,
});

export type TransportLimits = Readonly<Record<keyof typeof TRANSPORT_LIMITS, number>>;
