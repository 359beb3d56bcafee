/** Number of counters by which packets may be late, as when one connection replaces another. */
export const REPLAY_WINDOW = 4_096;

const BITS = 32;

/** Accepts each counter once, in nearly any order (RFC 4303, 3.4.3). */
export class ReplayWindow {
  #newest = 0n;
  readonly #seen = new Uint32Array(REPLAY_WINDOW / BITS);

  /** Rejects everything through `counter` from now on. */
  startAfter(counter: bigint): void {
    if (counter <= this.#newest) return;
    this.#newest = counter;
    this.#seen.fill(0xffffffff);
  }

  /** Returns false if the counter was accepted before or is older than the window. */
  take(counter: bigint): boolean {
    if (counter + BigInt(REPLAY_WINDOW) <= this.#newest || counter <= 0n) return false;
    if (counter > this.#newest) {
      this.#forget(counter - this.#newest);
      this.#newest = counter;
    }
    const place = Number(counter % BigInt(REPLAY_WINDOW));
    const word = Math.floor(place / BITS);
    const bit = 1 << (place % BITS);
    if ((this.#seen[word]! & bit) !== 0) return false;
    this.#seen[word]! |= bit;
    return true;
  }

  /** Clears the places of the next `count` counters, which hold those that leave the window. */
  #forget(count: bigint): void {
    if (count >= BigInt(REPLAY_WINDOW)) {
      this.#seen.fill(0);
      return;
    }
    for (let ahead = 1n; ahead <= count; ahead++) {
      const place = Number((this.#newest + ahead) % BigInt(REPLAY_WINDOW));
      this.#seen[Math.floor(place / BITS)]! &= ~(1 << (place % BITS));
    }
  }
}
