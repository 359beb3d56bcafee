import type { Clock } from '../../../lib/time/clock.ts';
import type { Timers } from '../../../lib/time/timers.ts';
import type { Metrics } from '../../../mixins/metrics.ts';
import type { Config } from '../../../process/config.ts';
import type { BodyPool } from '../bodies/body-pool.ts';
import type { TextEmbedder } from '../mcp/embeddings/text-embedder.ts';
import type { Overload } from '../overload/overload.ts';
import type { RateLimit } from '../rate-limit.ts';
import type { RoutedRequest } from '../request-context.ts';
import type { Responder } from '../responder.ts';
import type { Sender } from '../responses/sender.ts';

/** Dependencies of the steps. */
export interface StepParts {
  config: Config;
  clock: Clock;
  timers: Timers;
  metrics: Metrics;
  overload: Overload;
  rateLimit: RateLimit;
  operatorRateLimit: RateLimit;
  /** Limit of an audit link. */
  linkRateLimit: RateLimit;
  /** Limit of an address that sends tokens of audit links. */
  addressRateLimit: RateLimit;
  bodies: BodyPool;
  /** Makes vectors of the texts of agents; null if the operator named no endpoint. */
  embeddings: { forRequest(request: RoutedRequest): TextEmbedder } | null;
  sender: Sender;
  responder: Responder;
}

/** Step of the pipeline. Throws the ProvecError for the client, or ClientGoneError. */
export type Step = (request: RoutedRequest, parts: StepParts) => void | Promise<void>;
