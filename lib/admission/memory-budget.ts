/**
 * Bounds the memory that all request bodies, or all answers, hold at one time.
 *
 * The total stays within `maxBytes`. Large requests leave `smallReserveBytes` to small ones. An
 * account that holds something leaves a share of the rest to others (`FairShares`). So one
 * account's large requests cannot shut out another's.
 * The largest permitted request must fit into an empty budget; otherwise it would be told to retry
 * forever.
 */
import { ProvecError } from '../errors.ts';
import { FairShares } from './fair-share.ts';

/** An account may hold at most twice the amount left free. */
const SHARE_FACTOR = 2;

export interface MemoryBounds {
  maxBytes: number;
  smallReserveBytes: number;
  /** Requests above this size are large. */
  smallMaxBytes: number;
  /** Per-request maximum, and the error message when a request exceeds it; absent if all fit. */
  one?: { maxBytes: number; message: string };
}

/** The memory that one request holds. */
export interface MemoryHold {
  /**
   * Changes the size of the hold. If it does not fit, releases the hold and throws UNAVAILABLE, or
   * INVALID_ARGUMENT if it never will.
   */
  resize(bytes: number): void;
  /** Idempotent. */
  release(): void;
}

/** Receives the total held and refusals, for metrics. */
export interface MemoryObserver {
  held(bytes: number): void;
  refused(): void;
}

const UNOBSERVED: MemoryObserver = { held: () => undefined, refused: () => undefined };

export class MemoryBudget {
  readonly #bounds: MemoryBounds;
  readonly #message: string;
  readonly #observer: MemoryObserver;
  readonly #shares = new FairShares(SHARE_FACTOR);
  /** For each account that holds anything, the size that a hold of it was last refused. */
  readonly #refusedBytes = new Map<string, number>();

  /** `message` is the text of the UNAVAILABLE error. */
  constructor(bounds: MemoryBounds, message: string, observer: MemoryObserver = UNOBSERVED) {
    this.#bounds = bounds;
    this.#message = message;
    this.#observer = observer;
  }

  /** Throws UNAVAILABLE if `bytes` more do not fit now. Holds nothing. */
  expect(account: string, bytes: number): void {
    if (!this.#fits(account, bytes)) throw this.#refusal();
  }

  /**
   * Holds `bytes` until released. `mostBytes`: the size to which the hold may grow. If another one
   * of the account could not grow to that size, or to less, and still could not, this one is
   * refused before any work is done for it. Throws as `MemoryHold.resize` does.
   */
  take(account: string, bytes: number, mostBytes = bytes): MemoryHold {
    this.expect(account, Math.min(this.#refusedBytes.get(account) ?? 0, mostBytes));
    let ownBytes = 0;
    const hold = (heldBytes: number) => {
      this.#shares.add(account, heldBytes - ownBytes);
      ownBytes = heldBytes;
      if (this.#shares.of(account) === 0) this.#refusedBytes.delete(account);
      this.#observer.held(this.#shares.total);
    };
    const resize = (wantedBytes: number) => {
      if (wantedBytes > ownBytes) {
        hold(0);
        this.#refuseTooLarge(wantedBytes);
        if (!this.#fits(account, wantedBytes)) {
          if (this.#shares.of(account) > 0) this.#refusedBytes.set(account, wantedBytes);
          throw this.#refusal();
        }
      }
      hold(wantedBytes);
    };
    resize(bytes);
    return { resize, release: () => hold(0) };
  }

  #fits(account: string, bytes: number): boolean {
    const { maxBytes, smallMaxBytes, smallReserveBytes } = this.#bounds;
    const most = bytes > smallMaxBytes ? maxBytes - smallReserveBytes : maxBytes;
    if (bytes === 0) return true;
    return this.#shares.total + bytes <= most && this.#shares.admits(account, bytes, most);
  }

  #refuseTooLarge(bytes: number): void {
    const { one } = this.#bounds;
    if (one !== undefined && bytes > one.maxBytes) throw new ProvecError('INVALID_ARGUMENT', one.message);
  }

  #refusal(): ProvecError {
    this.#observer.refused();
    return new ProvecError('UNAVAILABLE', this.#message, { retryAfterSeconds: 1 });
  }
}
