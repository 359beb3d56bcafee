/**
 * Bounds the memory of all request bodies, or of all answers, that are held at one time.
 *
 * Promises: what is held stays within `maxBytes`; what is large leaves `smallReserveBytes` to what
 * is small; and an account that holds something leaves part of the rest to others (`Shares`). So
 * nobody's large requests shut out everybody's small ones, nor another's large ones.
 * Expects: what one request may hold at most fits where nothing else is held; else it would be told
 * to try again for ever.
 */
import { ProvecError } from '../errors.ts';
import { Shares } from './fair-share.ts';

/** An account may hold twice of what it leaves to others. */
const SHARE_FACTOR = 2;

export interface MemoryBounds {
  maxBytes: number;
  smallReserveBytes: number;
  /** More than this is large. */
  smallMaxBytes: number;
  /** What one may hold at most, and what it is told that wants more; absent: it is known to fit. */
  one?: { maxBytes: number; message: string };
}

/** What one request holds. */
export interface MemoryHold {
  /**
   * Holds what it turned out to take instead. Throws UNAVAILABLE, holding nothing any more, when
   * that is more and does not fit; INVALID_ARGUMENT when it never will.
   */
  resize(bytes: number): void;
  /** Idempotent. */
  release(): void;
}

/** Told what is held, for metrics. */
export interface MemoryObserver {
  held(bytes: number): void;
  refused(): void;
}

const UNOBSERVED: MemoryObserver = { held: () => undefined, refused: () => undefined };

export class MemoryBudget {
  readonly #bounds: MemoryBounds;
  readonly #message: string;
  readonly #observer: MemoryObserver;
  readonly #shares = new Shares(SHARE_FACTOR);

  /** `message`: what a client is told that is refused. */
  constructor(bounds: MemoryBounds, message: string, observer: MemoryObserver = UNOBSERVED) {
    this.#bounds = bounds;
    this.#message = message;
    this.#observer = observer;
  }

  /** Throws UNAVAILABLE when `bytes` more would not fit now; holds nothing. */
  expect(account: string, bytes: number): void {
    if (!this.#fits(account, bytes)) throw this.#refusal();
  }

  /** Holds `bytes` until they are released; throws as `MemoryHold.resize` does. */
  take(account: string, bytes: number): MemoryHold {
    let ownBytes = 0;
    const hold = (heldBytes: number) => {
      this.#shares.add(account, heldBytes - ownBytes);
      ownBytes = heldBytes;
      this.#observer.held(this.#shares.total);
    };
    const resize = (wantedBytes: number) => {
      if (wantedBytes > ownBytes) {
        hold(0);
        this.#refuseTooLarge(wantedBytes);
        if (!this.#fits(account, wantedBytes)) throw this.#refusal();
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
