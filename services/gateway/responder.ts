import type { Logger } from 'pino';
import type { Config } from '../../lib/config.ts';
import type { ProvecError } from '../../lib/errors.ts';
import { toFailure } from '../../lib/failure.ts';
import { type RepeatedFields, RepeatedLines } from '../../mixins/repeated-lines.ts';
import { ClientGoneError } from './client-gone.ts';
import { errorResponse } from './error-response.ts';
import type { Exchange } from './exchange.ts';
import type { Page } from './operations.ts';
import type { Head, Sender } from './responses/sender.ts';
import type { Pieces } from './responses/splice.ts';
import type { Answer, Route } from './routes.ts';

const JSON_HEADERS = Object.freeze({
  'Content-Type': 'application/json; charset=utf-8',
  'Cache-Control': 'no-store',
});

/** Every answer that the gateway gives, and the log of those that are its own fault. */
export class Responder {
  readonly #config: Pick<Config, 'pricingUrl' | 'statusUrl'>;
  readonly #log: Logger;
  readonly #sender: Sender;
  readonly #repeated = new RepeatedLines();

  constructor(config: Pick<Config, 'pricingUrl' | 'statusUrl'>, log: Logger, sender: Sender) {
    this.#config = config;
    this.#log = log;
    this.#sender = sender;
  }

  /**
   * Answers with what a route's action gave, and with the parts that `following` gives until it
   * gives null. Rejects with UNAVAILABLE when that takes more memory than there is for answers; a
   * part that cannot be had cuts the answer off.
   */
  async succeed(exchange: Exchange, route: Route, result: unknown, following: () => Promise<unknown>): Promise<void> {
    const content = (part: unknown): string | Pieces => {
      exchange.answerMemory?.resize(route.heldBytes(part));
      return contentOf(route.answer(part));
    };
    const headers = { ...JSON_HEADERS, 'Content-Type': route.contentType };
    const status = route.made?.(result) ? 201 : route.status;
    const location = status === 200 || route.location === null ? null : route.location(result, exchange.input);
    const head = { status, headers: location === null ? headers : { ...headers, Location: location } };
    const more = async (): Promise<Pieces | null> => {
      const part = await following();
      return part === null ? null : (content(part) as Pieces);
    };
    await this.#reply(exchange, head, content(result), more);
  }

  /** Answers with an error, whatever was thrown, and lets go of what the request holds. */
  fail(exchange: Exchange, thrown: unknown): void {
    exchange.ended();
    if (thrown instanceof ClientGoneError) {
      exchange.res.destroy();
      return;
    }
    const { error, isFault } = toFailure(thrown);
    if (isFault) this.#logFault(exchange, error, thrown);
    if (exchange.res.headersSent) {
      exchange.cut(error.code);
      return;
    }
    const { body, headers, status } = errorResponse(error, exchange.id, this.#config);
    void this.#reply(exchange, { status, headers: { ...JSON_HEADERS, ...headers } }, JSON.stringify(body));
  }

  /** Answers an OPTIONS request. */
  allow(exchange: Exchange, methods: readonly string[]): void {
    void this.#reply(exchange, { status: 204, headers: { Allow: methods.join(', ') } }, '');
  }

  async page(exchange: Exchange, page: Page): Promise<void> {
    try {
      const { status, text, type, headers } = await page(exchange.req.headers.host ?? '');
      const all = { 'Content-Type': type, 'Cache-Control': 'no-store', ...headers };
      void this.#reply(exchange, { status, headers: all }, text);
    } catch (error) {
      this.fail(exchange, error);
    }
  }

  /** Writes the lines that were kept back; to be called when no request is left. */
  close(): void {
    this.#repeated.close();
  }

  #reply(exchange: Exchange, head: Head, content: string | Pieces, more?: () => Promise<Pieces | null>): Promise<void> {
    return this.#sender
      .send(exchange, head, content, more)
      .catch((error: unknown) => this.fail(exchange, error))
      .finally(() => exchange.answerMemory?.release());
  }

  /**
   * While a part is away every request fails of the same cause: one line a second says so, and of
   * how many.
   */
  #logFault(exchange: Exchange, { code }: ProvecError, thrown: unknown): void {
    const cause = thrown instanceof Error && thrown.cause instanceof Error ? thrown.cause : thrown;
    const fields = { err: cause, requestId: exchange.id, route: exchange.pattern };
    const write = (repeated: RepeatedFields): void => this.#log.error({ ...fields, ...repeated }, 'request failed');
    if (code === 'UNAVAILABLE' && cause instanceof Error) this.#repeated.write(`${cause.name} ${cause.message}`, write);
    else write({});
  }
}

function contentOf(answer: Answer): string | Pieces {
  return typeof answer === 'function' ? (answer as Pieces) : JSON.stringify(answer);
}
