import type { Middleware, Service } from 'moleculer';
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';

const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/**
 * The metrics of one process. Labels are route patterns such as `/api/v1/collections/{name}/query`,
 * methods, statuses and action names, never paths or anything that a tenant named.
 */
export class Metrics {
  readonly registry = new Registry();
  readonly #registers = [this.registry];
  readonly requests = new Counter({
    name: 'provec_http_requests_total',
    help: 'HTTP requests answered.',
    labelNames: ['route', 'method', 'status'],
    registers: this.#registers,
  });
  readonly answersCutOff = new Counter({
    name: 'provec_http_answers_cut_off_total',
    help: 'Answers that the gateway began and did not send to their end.',
    labelNames: ['route', 'reason'],
    registers: this.#registers,
  });
  readonly requestSeconds = new Histogram({
    name: 'provec_http_request_duration_seconds',
    help: 'Time from the end of the request header to the end of the response.',
    labelNames: ['route', 'method'],
    buckets: SECONDS,
    registers: this.#registers,
  });
  readonly requestsInFlight = new Gauge({
    name: 'provec_http_requests_in_flight',
    help: 'HTTP requests not yet answered.',
    registers: this.#registers,
  });
  readonly bodyBytes = new Gauge({
    name: 'provec_http_request_bodies_in_flight_bytes',
    help: 'Bytes of request bodies held right now.',
    registers: this.#registers,
  });
  readonly answerBytes = new Gauge({
    name: 'provec_http_answers_in_flight_bytes',
    help: 'Bytes of records held right now for answers that are being fetched or sent.',
    registers: this.#registers,
  });
  readonly textBytes = new Gauge({
    name: 'provec_http_text_answers_in_flight_bytes',
    help: 'Bytes of answers without records, such as lists and errors of keys, that clients have yet to read.',
    registers: this.#registers,
  });
  readonly parseSeconds = new Histogram({
    name: 'provec_http_body_parse_seconds',
    help: 'Time to parse and check a request body once it has arrived, waiting for a thread included.',
    buckets: SECONDS,
    registers: this.#registers,
  });
  readonly toolCalls = new Counter({
    name: 'provec_mcp_tool_calls_total',
    help: 'Calls of tools by agents, by outcome (ok or the error code).',
    labelNames: ['tool', 'outcome'],
    registers: this.#registers,
  });
  readonly #actionSeconds = new Histogram({
    name: 'provec_action_duration_seconds',
    help: 'Duration of actions called on this node, by outcome (ok or the error code).',
    labelNames: ['action', 'outcome'],
    buckets: SECONDS,
    registers: this.#registers,
  });

  constructor() {
    // In ms. At 10 ms the timer causes most of an idle process's wake-ups.
    collectDefaultMetrics({ register: this.registry, eventLoopMonitoringPrecision: 20 });
  }

  /** Broker middleware that times every local action except the framework's own. */
  readonly middleware: Middleware = {
    name: 'ActionMetrics',
    localAction: (next, action) => {
      const name = action.name ?? 'unknown';
      if (name.startsWith('$') || name.startsWith('gateway.')) return next;
      const actionSeconds = this.#actionSeconds;
      return async function timed(this: Service, ctx) {
        const startedMs = performance.now();
        const seconds = () => (performance.now() - startedMs) / 1000;
        try {
          const result: unknown = await next.call(this, ctx);
          actionSeconds.observe({ action: name, outcome: 'ok' }, seconds());
          return result;
        } catch (error) {
          actionSeconds.observe({ action: name, outcome: outcomeOf(error) }, seconds());
          throw error;
        }
      };
    },
  };
}

/** Returns a label with few values: our error codes, or the class of any other error. */
function outcomeOf(error: unknown): string {
  if (!(error instanceof Error)) return 'Error';
  const code = 'code' in error ? error.code : undefined;
  return error.name === 'ProvecError' && typeof code === 'string' ? code : error.name.slice(0, 64);
}
