/** What a node knows of a call that another one made. */
type CallStatus = 'running' | 'answered' | 'lost' | 'unknown';

/** Sends an answer once more. */
type SendAgain = () => Promise<void>;

interface Answered {
  atMs: number;
  bytes: number;
  /** Null where the answer was too large to keep, or could not be sent at all. */
  sendAgain: SendAgain | null;
}

/** Milliseconds and bytes. */
export const RECEIVED_CALLS_LIMITS = Object.freeze({
  answerMaxBytes: 16 * 1024,
  answersMaxBytes: 16 * 1024 * 1024,
  /** Ids of answered calls. */
  answeredMax: 50_000,
  answeredMaxAgeMs: 30_000,
  /** Ids of calls that must not run should they still come. */
  refusedMax: 10_000,
});

/** Two clocks that measure a call's age, and the time that it spent on the way. */
const AGE_MARGIN = 1.2;
const AGE_MARGIN_MS = 1_000;

interface ReceivedCallsOptions {
  monotonicMs(): number;
  /** Whether a call of an action may be made twice: its answer is not kept. */
  isRepeatable(action: string): boolean;
  limits?: Readonly<Record<keyof typeof RECEIVED_CALLS_LIMITS, number>>;
}

/**
 * The calls that a node has received and, for a while, the answers that it gave.
 *
 * Promises: a call is 'lost' only if it never came, and then it does not run should it come later
 * (unless 10,000 others were lost in between). Where a node has answered too much since to be
 * certain, or the call may be made twice anyway, the status is 'unknown'. What is kept is bounded
 * in number, bytes and age.
 */
export class ReceivedCalls {
  readonly #options: Required<ReceivedCallsOptions>;
  /** Actions of calls that run. */
  readonly #running = new Map<string, string>();
  /** Oldest first. */
  readonly #answered = new Map<string, Answered>();
  readonly #refused = new Set<string>();
  #answersBytes = 0;
  /** Every call that was answered after it is still known. */
  #completeSinceMs = Number.NEGATIVE_INFINITY;

  constructor(options: ReceivedCallsOptions) {
    this.#options = { limits: RECEIVED_CALLS_LIMITS, ...options };
  }

  /** A call came; false when it must not run. */
  arrived(id: string, action: string): boolean {
    if (this.#refused.has(id)) return false;
    this.#running.set(id, action);
    return true;
  }

  /** Keeps the answer of a call that runs, unless the call may be made twice. */
  answer(id: string, data: Buffer, send: (data: Buffer) => Promise<void>): void {
    const action = this.#running.get(id);
    if (action === undefined || this.#options.isRepeatable(action)) return;
    if (data.byteLength > this.#options.limits.answerMaxBytes) this.#keep(id, 0, null);
    else {
      // The serializer's buffer may be a part of a larger one.
      const copy = Buffer.from(data);
      this.#keep(id, copy.byteLength, () => send(copy));
    }
  }

  /**
   * Nothing more comes of a call here; whether its answer was sent or not, it must not run again.
   */
  ended(id: string): void {
    const action = this.#running.get(id);
    if (action === undefined) return;
    this.#running.delete(id);
    if (!this.#options.isRepeatable(action) && !this.#answered.has(id)) this.#keep(id, 0, null);
  }

  /** What became of a call that was sent `ageMs` ago by the caller's clock. */
  status(id: string, action: string, ageMs: number): CallStatus {
    if (this.#running.has(id)) return 'running';
    if (this.#answered.has(id)) return 'answered';
    const sentMs = this.#options.monotonicMs() - (ageMs * AGE_MARGIN + AGE_MARGIN_MS);
    if (this.#options.isRepeatable(action) || sentMs < this.#completeSinceMs) return 'unknown';
    this.#refuse(id);
    return 'lost';
  }

  /** How an answer is sent once more; null where it is not kept. */
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
    const [oldest] = this.#refused;
    this.#refused.delete(oldest!);
  }
}
