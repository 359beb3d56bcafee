import { StoreError } from '../../../store/port.ts';
import type { Decision, Rows, SimulatedDatabase } from './simulated-database.ts';
import type { NodeTime, VirtualTime } from './virtual-time.ts';

/** Faults of messages. Chances are from 0 to 1. */
export interface NetworkFaults {
  loss: number;
  /** Chance that a message takes up to `slowMaxMs` instead of up to `usualMaxMs`. */
  slow: number;
  slowMaxMs: number;
  usualMaxMs: number;
  /** Chance that a message arrives twice. */
  twice: number;
  /** Chance that a call fails immediately for its caller, whether or not it takes effect. */
  failure: number;
}

export const NO_FAULTS: NetworkFaults = { loss: 0, slow: 0, slowMaxMs: 0, usualMaxMs: 10, twice: 0, failure: 0 };

const TIMEOUT_MS = 4_000;

type Effect = 'read' | 'write';

/** Carries one node's calls to the store: delayed, twice, not at all, or with a lost response. */
export class Wire {
  /** Whether calls to the store are cut off. Responses already in flight still arrive. */
  isCut = false;
  isDead = false;
  /** Extra delay of writes to the store. */
  writeDelayMs = 0;
  /** Extra delay of responses. */
  answerDelayMs: () => number = () => 0;
  readonly #time: VirtualTime;
  readonly #node: NodeTime;
  readonly #random: () => number;
  readonly #weather: () => NetworkFaults;
  readonly #database: SimulatedDatabase;

  constructor(
    time: VirtualTime,
    node: NodeTime,
    random: () => number,
    weather: () => NetworkFaults,
    database: SimulatedDatabase,
  ) {
    this.#time = time;
    this.#node = node;
    this.#random = random;
    this.#weather = weather;
    this.#database = database;
  }

  /** Throws StoreError 'unavailable' when the call fails. */
  read<T>(look: (rows: Rows) => T): Promise<T> {
    return this.#call('read', (answer) => answer(() => look(this.#database.durable)));
  }

  /**
   * Throws StoreError 'unknown' when the write may have been applied or still may be, and
   * 'unavailable' when it was not applied.
   */
  write<T>(decide: (primary: Rows) => Decision<T>): Promise<T> {
    return this.#call('write', (answer) =>
      this.#database.write(decide, (outcome) =>
        answer(() => {
          if (outcome.end === 'interrupted') throw new StoreError('unknown', 'another primary took over');
          return outcome.result;
        }),
      ),
    );
  }

  #call<T>(effect: Effect, work: (answer: (give: () => T) => void) => void): Promise<T> {
    return new Promise((resolve, reject) => {
      let open = true;
      const settle = (run: () => void) =>
        this.#node.arrive(() => {
          if (!open || this.isDead) return;
          open = false;
          cancel();
          run();
        });
      const fail = (kind: StoreError['kind']) => settle(() => reject(new StoreError(kind, 'the call failed')));
      const doubt = effect === 'read' ? 'unavailable' : 'unknown';
      const cancel = this.#node.after(TIMEOUT_MS, () => fail(doubt));
      if (this.#random() < this.#weather().failure) this.#time.after(this.#random() * 20, () => fail(doubt));
      // A call that arrives twice is still one call: if it was refused, it is not applied later.
      let isRun = false;
      let isRefused = false;
      const refuse = (): void => {
        isRefused ||= !isRun;
        this.#carry(this.#delayMs(), () => fail(isRun ? doubt : 'unavailable'));
      };
      const arrive = (): void => {
        if (this.#database.isDown) refuse();
        else if (!isRefused) {
          isRun = true;
          work((give) => this.#carry(this.#delayMs() + this.answerDelayMs(), () => settle(() => bring(give))));
        }
      };
      const bring = (give: () => T): void => {
        try {
          resolve(give());
        } catch (error) {
          reject(error);
        }
      };
      const laterMs = effect === 'write' ? this.writeDelayMs : 0;
      if (!this.isCut) this.#carry(laterMs + this.#delayMs(), arrive);
      if (!this.isCut && this.#random() < this.#weather().twice) this.#carry(this.#delayMs(), arrive);
    });
  }

  #delayMs(): number {
    return delayMs(this.#weather(), this.#random);
  }

  #carry(ms: number, run: () => void): void {
    if (this.#random() >= this.#weather().loss) this.#time.after(ms, run);
  }
}

export function delayMs({ slow, slowMaxMs, usualMaxMs }: NetworkFaults, random: () => number): number {
  return random() < slow ? random() * slowMaxMs : random() * usualMaxMs;
}
