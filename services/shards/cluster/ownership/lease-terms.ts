/** How long a lease is good for on its holder's clock, from before its renewal was sent. */
export const LEASE_MS = 6_000;
export const RENEW_EVERY_MS = 2_000;
/** After a renewal that failed. */
export const RENEW_AGAIN_MS = 500;
/**
 * For so long callers of a node wait for the lease that it is taking. After an outage of the store
 * all nodes take theirs within a moment of each other, and whoever is first would be left with
 * everything that nobody holds. The store has answered such a caller just before, so that the lease
 * is on its way.
 */
export const LEASE_WAIT_MS = 1_000;
/**
 * A node that hears nothing for so long may be cut off from the others: each sends a heartbeat
 * every 2 s.
 */
export const SILENCE_MAX_MS = 6_000;
/**
 * By how much later another node must have heard something: when all hear nothing any more, what
 * carries calls is away, and nobody gains.
 */
export const HEARD_LATER_MS = 3_000;
/** For how long. After an outage of Redis each node tries to connect again every 2 s. */
export const HEARD_LATER_FOR_MS = 3_000;
/** Between two looks at the others' leases. */
export const WATCH_EVERY_MS = 1_000;
/**
 * How long a lease must have stood unchanged on an observer's clock before it is dead: the lease
 * time, with both clocks wrong by a tenth in the worst direction (6 s on a holder's slow clock are
 * 6.67 s, which a fast clock counts as 7.34 s), rounded up.
 */
export const DEAD_AFTER_MS = 7_500;
