import { write } from './streams.ts';

const OPEN = '\u001b[?1049h\u001b[?25l';
const CLOSE = '\u001b[?25h\u001b[?1049l';
const HOME = '\u001b[H';
const CLEAR_LINE = '\u001b[K';
const CLEAR_BELOW = '\u001b[J';
/** Number of rows if the terminal does not report it. */
const ROWS = 24;

/** The terminal's second screen, on which a command redraws what it shows. */
export class Screen {
  static async open(): Promise<Screen> {
    await write(OPEN);
    return new Screen();
  }

  /** Shows as many lines as fit. */
  async draw(lines: readonly string[]): Promise<void> {
    const shown = lines.slice(0, (process.stdout.rows || ROWS) - 1);
    await write(`${HOME}${shown.map((line) => `${line}${CLEAR_LINE}\n`).join('')}${CLEAR_BELOW}`);
  }

  /** Restores the first screen. */
  async close(): Promise<void> {
    await write(CLOSE);
  }
}
