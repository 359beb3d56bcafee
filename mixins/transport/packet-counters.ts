/** Large enough that a peer's counters rarely jump, small enough that 2^44 peers get some. */
const RANGE = 2n ** 20n;

/**
 * Counters for the packets that one process seals for single others. No counter is given twice,
 * whatever becomes of the series that gave it.
 */
export class PacketCounters {
  #unused = 1n;

  /** Gives a counter per call, ascending, from ranges that no other series has. */
  series(): () => bigint {
    let next = 0n;
    let end = 0n;
    return () => {
      if (next === end) {
        next = this.#unused;
        end = next + RANGE;
        this.#unused = end;
      }
      return next++;
    };
  }
}
