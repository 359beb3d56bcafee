import { firstOf } from '../lib/checked-access.ts';

/** What a node knows about a call that it received. */
type CallStatus = 'running' | 'answered' | 'lost' | 'unknown';

/** Sends a response again. */
type SendAgain = () => Promise<void>;

interface AnsweredCall {
  atMs: number;
  bytes: number;
  /** Null if the response was too large to keep or could not be sent. */
  sendAgain: SendAgain | null;
}

/** Milliseconds and bytes. */
export const RECEIVED_CALLS_LIMITS = Object.freeze({
  answerMaxBytes: 16 * 1024,
  answersMaxBytes: 16 * 1024 * 1024,
  /** Ids of answered calls. */
  answeredMax: 50_000,
  answeredMaxAgeMs: 30_000,
  /** Ids of calls that must not run if they still arrive. */
  refusedMax: 10_000,
});

/** Allowance for different clock rates and for the time spent in transit. */
const AGE_MARGIN = 1.2;
const AGE_MARGIN_MS = 1_000;

interface ReceivedCallsOptions {
  monotonicMs(): number;
  /** Whether an action may run twice; its response is then not kept. */
  isRepeatable(action: string): boolean;
  limits?: Readonly<Record<keyof typeof RECEIVED_CALLS_LIMITS, number>>;
}

/**
 * The calls that a node has received and, for a limited time, its responses.
 *
 * A call is 'lost' only if it never arrived, and then it will not run if it arrives later (unless
 * 10,000 others were lost in between). The status is 'unknown' if the node has answered too many
 * calls since to be certain, or if the call is repeatable anyway. Memory is bounded by number,
 * bytes and age.
 */
export class ReceivedCalls {
  readonly #options: Required<ReceivedCallsOptions>;
  /** Actions of running calls, by call id. */
  readonly #running = new Map<string, string>();
  /** Oldest first. */
  readonly #answered = new Map<string, AnsweredCall>();
  readonly #refused = new Set<string>();
  #answersBytes = 0;
  /** All calls answered after this time are still known. */
  #completeSinceMs = Number.NEGATIVE_INFINITY;

  constructor(options: ReceivedCallsOptions) {
    this.#options = { limits: RECEIVED_CALLS_LIMITS, ...options };
  }

  /** Records the arrival of a call. Returns false if it must not run. */
  arrived(id: string, action: string): boolean {
    if (this.#refused.has(id)) return false;
    this.#running.set(id, action);
    return true;
  }

  /** Keeps the response of a running call, unless the call is repeatable. */
  answer(id: string, data: Buffer, send: (data: Buffer) => Promise<void>): void {
    const action = this.#running.get(id);
    if (action === undefined || this.#options.isRepeatable(action)) return;
    if (data.byteLength > this.#options.limits.answerMaxBytes) this.#keep(id, 0, null);
    else {
      // The serializer's buffer may be part of a larger one.
      const copy = Buffer.from(data);
      this.#keep(id, copy.byteLength, () => send(copy));
    }
  }

  /** Records the end of a call. It must not run again, whether or not its response was sent. */
  ended(id: string): void {
    const action = this.#running.get(id);
    if (action === undefined) return;
    this.#running.delete(id);
    if (!this.#options.isRepeatable(action) && !this.#answered.has(id)) this.#keep(id, 0, null);
  }

  /** Returns the status of a call that was sent `ageMs` ago, by the caller's clock. */
  status(id: string, action: string, ageMs: number): CallStatus {
    if (this.#running.has(id)) return 'running';
    if (this.#answered.has(id)) return 'answered';
    const sentMs = this.#options.monotonicMs() - (ageMs * AGE_MARGIN + AGE_MARGIN_MS);
    if (this.#options.isRepeatable(action) || sentMs < this.#completeSinceMs) return 'unknown';
    this.#refuse(id);
    return 'lost';
  }

  /** Returns the function that sends a response again; null if the response is not kept. */
  answerOf(id: string): SendAgain | null {
    return this.#answered.get(id)?.sendAgain ?? null;
  }

  #keep(id: string, bytes: number, sendAgain: SendAgain | null): void {
    this.#forget(id);
    this.#answered.set(id, { atMs: this.#options.monotonicMs(), bytes, sendAgain });
    this.#answersBytes += bytes;
    this.#trim();
  }

  #trim(): void {
    const { answeredMax, answersMaxBytes, answeredMaxAgeMs } = this.#options.limits;
    const oldestMs = this.#options.monotonicMs() - answeredMaxAgeMs;
    for (const [id, { atMs }] of this.#answered) {
      const isFull = this.#answered.size > answeredMax || this.#answersBytes > answersMaxBytes;
      if (!isFull && atMs >= oldestMs) return;
      this.#completeSinceMs = atMs;
      this.#forget(id);
    }
  }

  #forget(id: string): void {
    const answered = this.#answered.get(id);
    if (!answered) return;
    this.#answersBytes -= answered.bytes;
    this.#answered.delete(id);
  }

  #refuse(id: string): void {
    this.#refused.add(id);
    if (this.#refused.size <= this.#options.limits.refusedMax) return;
    this.#refused.delete(firstOf(this.#refused));
  }
}
