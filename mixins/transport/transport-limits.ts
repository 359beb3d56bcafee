const MIB = 1024 * 1024;

/** Bounds of what travels between nodes; none of them is a client's to choose. */
export const TRANSPORT_LIMITS = Object.freeze({
  /**
   * What goes over the wire at once, its frame included: small enough for heartbeats to get
   * between.
   */
  packetMaxBytes: 512 * 1024,
  /**
   * Over TCP: no more than a socket gives at once, since Moleculer's reader copies what it has of a
   * packet each time some more arrives.
   */
  tcpPacketMaxBytes: 60 * 1024,
  /** Connections over TCP on which no member has shown itself yet: 30 MiB of unfinished packets. */
  strangersMax: 512,
  /** For how long such a connection is kept; members prove themselves in milliseconds. */
  strangerMaxMs: 5_000,
  messageMaxBytes: 256 * MIB,
  /** Bytes of one message that its receiver has not yet acknowledged. */
  messageWindowMaxBytes: 2 * MIB,
  /** Messages of several parts that a node sends at once; others wait their turn. */
  messagesInPartsMax: 32,
  turnWaitMaxMs: 10_000,
  acknowledgementWaitMaxMs: 10_000,
  /** Memory for messages that have not arrived whole. */
  incompleteMaxBytes: 512 * MIB,
  incompletePerNodeMaxBytes: 256 * MIB,
  incompletePerNodeMax: 64,
  /** Since its last part; longer than its sender waits. */
  incompleteMaxAgeMs: 15_000,
  /** How long a node that stops waits for what it is still sending. */
  drainMaxMs: 5_000,
  /** How long an answer waits for a lost connection to come back. */
  answerHeldMaxMs: 10_000,
  /** A node that no message reaches is gone after this time. */
  absentMaxMs: 1_000,
  /** How long a packet waits for its receiver to prove that it is a member. */
  memberWaitMaxMs: 2_000,
  redisConnectMaxMs: 5_000,
  /** A Redis that is silent for this long is given up. */
  redisReplyMaxMs: 5_000,
  reconnectMinMs: 100,
  reconnectMaxMs: 2_000,
  /** How long a start waits for Redis. */
  redisAtStartMaxMs: 20_000,
});

export type TransportLimits = Readonly<Record<keyof typeof TRANSPORT_LIMITS, number>>;
