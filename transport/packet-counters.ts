/** Large enough that a peer's counters rarely jump, small enough for 2^44 peers. */
const RANGE = 2n ** 20n;

/** Counters for packets that this process seals for single peers. None is ever used twice. */
export class PacketCounters {
  #unused = 1n;

  /** Returns a function that yields ascending counters from ranges that no other series uses. */
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
