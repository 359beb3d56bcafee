import { countedRecords } from './counted.ts';
import { timeText } from './quantities.ts';

/** Shortest time, in ms, between two updates of the line. */
const UPDATE_MS = 100;
const CLEAR = '\r\u001b[K';

/**
 * A line on stderr with what is done, the rate and the time left. Prints nothing unless stderr is a
 * terminal.
 */
export class Progress {
  readonly #verb: string;
  readonly #beganMs = performance.now();
  readonly #isShown: boolean;
  #shownMs = 0;

  /**
   * `verb`: what the command is doing, such as "importing". `isBesideOutput`: whether the command
   * writes results at the same time, which on a terminal would mix with the line.
   */
  constructor(verb: string, { isBesideOutput = false } = {}) {
    this.#verb = verb;
    this.#isShown = process.stderr.isTTY && !(isBesideOutput && process.stdout.isTTY);
  }

  /** `part`: done part of the whole, from 0 to 1; null if the whole is unknown. */
  update(records: number, part: number | null): void {
    const nowMs = performance.now();
    if (!this.#isShown || nowMs - this.#shownMs < UPDATE_MS) return;
    this.#shownMs = nowMs;
    process.stderr.write(CLEAR + progressLine(this.#verb, records, part, (nowMs - this.#beganMs) / 1_000));
  }

  /** Removes the line. */
  end(): void {
    if (this.#isShown && this.#shownMs > 0) process.stderr.write(CLEAR);
  }
}

/** Returns the text of the line after `seconds` of work. */
export function progressLine(verb: string, records: number, part: number | null, seconds: number): string {
  const count = `${verb}  ${countedRecords(records)}`;
  const rate = `${Math.round(records / Math.max(seconds, 0.001)).toLocaleString('en')}/s`;
  if (part === null || part <= 0) return `${count}  ${rate}`;
  const leftSeconds = (seconds * (1 - part)) / part;
  return `${count}  ${Math.floor(part * 100)} %  ${rate}  ${timeText(leftSeconds)} left`;
}
