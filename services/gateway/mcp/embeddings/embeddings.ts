/**
 * Sends texts to the embeddings endpoint that the operator named. Each account waits in its own
 * line, may send a number of texts per minute, and pays for nothing that another account sends.
 */
import type { Logger } from 'pino';
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import { ProvecError } from '../../../../lib/errors.ts';
import type { Config } from '../../../../process/config.ts';
import { RepeatedLines } from '../../../../process/repeated-lines.ts';
import type { FairQueue } from '../../overload/fair-queue.ts';
import type { RoutedRequest } from '../../request-context.ts';
import { untilDisconnect } from '../../steps/call-action.ts';
import { EmbeddingsEndpoint, EndpointFailure } from './embeddings-endpoint.ts';
import type { TextEmbedder } from './text-embedder.ts';

const SECONDS = 60;

interface EmbeddingsParts {
  endpoint: EmbeddingsEndpoint;
  textsPerMinute: number;
  queue: FairQueue;
  log: Pick<Logger, 'warn'>;
}

export class Embeddings {
  readonly #endpoint: EmbeddingsEndpoint;
  readonly #queue: FairQueue;
  readonly #log: EmbeddingsParts['log'];
  readonly #repeated = new RepeatedLines();
  readonly #limit: RateLimiterMemory;
  readonly #textsPerMinute: number;

  constructor({ endpoint, log, queue, textsPerMinute }: EmbeddingsParts) {
    this.#endpoint = endpoint;
    this.#log = log;
    this.#queue = queue;
    this.#textsPerMinute = textsPerMinute;
    this.#limit = new RateLimiterMemory({ points: textsPerMinute, duration: SECONDS });
  }

  /** Returns the embedder of a request: for its account, until its client disconnects. */
  forRequest(request: RoutedRequest): TextEmbedder {
    return { embed: (texts, dimensions) => this.#embed(request, texts, dimensions) };
  }

  /** Writes the suppressed log lines. */
  close(): void {
    this.#repeated.close();
  }

  async #embed(request: RoutedRequest, texts: readonly string[], dimensions: number): Promise<number[][]> {
    await this.#charge(request.accountId, texts.length);
    const whenGone = (leave: () => void) => request.whenGone(leave);
    const permit = await this.#queue.enter({ account: request.accountId, width: 1, whenGone });
    try {
      return await untilDisconnect(request, (signal) => this.#endpoint.embed(texts, dimensions, signal));
    } catch (error) {
      if (!(error instanceof EndpointFailure)) throw error;
      const { problem } = error;
      this.#repeated.write(problem, (repeated) =>
        this.#log.warn({ problem, ...repeated }, 'the embeddings endpoint failed'),
      );
      throw new ProvecError(
        'UNAVAILABLE',
        `The service's embeddings endpoint ${problem}. Nothing was stored or searched; try again later, or give the vector.`,
        { retryAfterSeconds: 1 },
      );
    } finally {
      permit.release();
    }
  }

  /** Counts texts against the account. Throws RATE_LIMITED. */
  async #charge(account: string, texts: number): Promise<void> {
    try {
      await this.#limit.consume(account, texts);
    } catch (refusal) {
      if (!(refusal instanceof RateLimiterRes)) throw refusal;
      throw new ProvecError(
        'RATE_LIMITED',
        `This account may have ${this.#textsPerMinute} texts embedded per minute; give vectors, or wait.`,
        { retryAfterSeconds: Math.max(1, Math.ceil(refusal.msBeforeNext / 1000)) },
      );
    }
  }
}

/** Returns the embeddings that the configuration names; null if it names none. */
export function embeddingsOf(config: Config, queue: FairQueue, log: Pick<Logger, 'warn'>): Embeddings | null {
  const {
    embeddingsKey: key,
    embeddingsModel: model,
    embeddingsPerMinute: textsPerMinute,
    embeddingsUrl: url,
  } = config;
  if (url === null || model === null) return null;
  return new Embeddings({ endpoint: new EmbeddingsEndpoint({ url, model, key }), textsPerMinute, queue, log });
}
