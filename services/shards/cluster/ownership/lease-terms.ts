/** Lifetime of a lease on its holder's clock, in ms, from just before its renewal is sent. */
export const LEASE_MS = 6_000;
export const RENEW_EVERY_MS = 2_000;
/** Pause before retrying a failed renewal, in ms. */
export const RENEW_RETRY_MS = 500;
/**
 * Longest time, in ms, that callers wait for a lease the node is taking. After a store outage all
 * nodes take their leases almost at once; without the wait, the first would receive every free
 * shard. The store has just answered such a caller, so the lease arrives soon.
 */
export const LEASE_WAIT_MS = 1_000;
/** Silence, in ms, after which a node may be isolated. Every node sends a heartbeat every 2 s. */
export const SILENCE_MAX_MS = 6_000;
/**
 * How much later another node must have received a heartbeat, in ms. If no node hears anything, the
 * transport is down, and giving up shards would help no one.
 */
export const HEARD_LATER_MS = 3_000;
/** How long that must last, in ms. After a Redis outage each node tries to reconnect every 2 s. */
export const HEARD_LATER_FOR_MS = 3_000;
/** Time between two checks of the other nodes' leases, in ms. */
export const WATCH_EVERY_MS = 1_000;
/**
 * Time, in ms, that a lease must stand unchanged on an observer's clock before it is dead. It is
 * the lease time with both clocks off by 10% in the worst direction (6 s on a slow holder's clock
 * are 6.67 s, which a fast observer counts as 7.34 s), rounded up.
 */
export const DEAD_AFTER_MS = 7_500;
