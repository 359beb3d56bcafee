import { setTimeout as delay } from 'node:timers/promises';
import { Command } from 'commander';
import { InputError } from '../../client/cli/json-file.ts';
import { printable } from '../../client/cli/printable.ts';
import type { ProvecOperator } from '../../client/index.ts';
import { FigureReader } from '../../client/metrics/figures.ts';
import { EXIT, isTransient } from '../exit-code.ts';
import { readMetrics } from '../metrics/read-metrics.ts';
import { examples, finiteNumber } from '../option-values.ts';
import { jsonLine } from '../output/json.ts';
import { Screen } from '../output/screen.ts';
import { write, writeError } from '../output/streams.ts';
import { inSession, type Session } from '../session.ts';
import { plainLine, screenLines, type TopDocument } from '../top/top-lines.ts';

const INTERVAL_SECONDS = 2;
const INTERVAL_MIN_SECONDS = 0.1;

interface TopOptions {
  interval: number;
  once?: true;
}

export const topCommand = (): Command =>
  new Command('top')
    .description('show nodes, rates and times of requests, memory and waiting anchors, again and again')
    .option('--interval <seconds>', 'time between two reads', finiteNumber, INTERVAL_SECONDS)
    .option('--once', 'show the figures of one interval and end')
    .addHelpText(
      'after',
      `
Redraws a terminal; prints a line per interval to a file or a pipe, with --json a document.
${examples('provec top --once --interval 0.5', 'provec top --once --interval 0.5 --json')}`,
    )
    .action(
      inSession(async (session, options: TopOptions) => {
        if (options.interval < INTERVAL_MIN_SECONDS)
          throw new InputError(`--interval must be at least ${INTERVAL_MIN_SECONDS}.`);
        const { operator, token, url } = await session.operatorAt();
        const output = await Output.open(session, url, options.once === true);
        try {
          return await show(session, { operator, token, url, output }, options);
        } finally {
          await output.close();
        }
      }),
    );

interface Shown {
  operator: ProvecOperator;
  token: string;
  url: string;
  output: Output;
}

/** Shows the figures of each interval. The first figures need two reads. */
async function show(
  { request }: Session,
  { operator, token, url, output }: Shown,
  options: TopOptions,
): Promise<number> {
  const { interval, once } = options;
  const reader = new FigureReader();
  const read = async (): Promise<TopDocument> => {
    // Shows only current figures, so retrying a failed request is pointless.
    const nodes = await operator.listNodes({ ...request, retryForMs: 0 });
    const page = await readMetrics(url, token, request.signal);
    return { at: new Date().toISOString(), ...reader.next(page, performance.now()), ...nodes };
  };
  for (;;) {
    try {
      const document = await read();
      if (!once || document.rates !== null) await output.show(document);
      if (once && document.rates !== null) return EXIT.done;
    } catch (error) {
      if (once || request.signal.aborted || !isTransient(error)) throw error;
      await output.fail((error as Error).message);
    }
    await delay(interval * 1_000, undefined, request);
  }
}

/** Where the figures go. */
class Output {
  readonly #session: Session;
  readonly #url: string;
  readonly #screen: Screen | null;

  private constructor(session: Session, url: string, screen: Screen | null) {
    this.#session = session;
    this.#url = url;
    this.#screen = screen;
  }

  static async open(session: Session, url: string, once: boolean): Promise<Output> {
    const isRedrawn = process.stdout.isTTY && !session.isJson && !once;
    return new Output(session, url, isRedrawn ? await Screen.open() : null);
  }

  async show(document: TopDocument): Promise<void> {
    if (this.#session.isJson) return write(jsonLine(document));
    if (this.#screen !== null) return this.#screen.draw(screenLines(document, this.#url));
    await write(process.stdout.isTTY ? `${screenLines(document, this.#url).join('\n')}\n` : `${plainLine(document)}\n`);
  }

  async fail(message: string): Promise<void> {
    if (this.#screen === null) await writeError(message);
    else await this.#screen.draw([printable(message)]);
  }

  async close(): Promise<void> {
    await this.#screen?.close();
  }
}
