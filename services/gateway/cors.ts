import type { Exchange } from './exchange.ts';

const ALLOWED_HEADERS = 'Authorization, Content-Type, X-Request-Id';
const EXPOSED_HEADERS = 'X-Request-Id, Retry-After';
const PREFLIGHT_MAX_AGE_SECONDS = 600;

/**
 * Lets browsers of the configured origins read answers; without origins no such header is ever
 * sent.
 */
export class Cors {
  readonly #origins: ReadonlySet<string>;

  constructor(origins: readonly string[]) {
    this.#origins = new Set(origins);
  }

  /** Sets the headers of an answer. `methods` (of the path) are told to a preflight. */
  apply({ req, res }: Exchange, methods: readonly string[] | null): void {
    if (this.#origins.size === 0) return;
    const any = this.#origins.has('*');
    if (!any) res.setHeader('Vary', 'Origin');
    const { origin } = req.headers;
    if (origin === undefined || !(any || this.#origins.has(origin))) return;
    res.setHeader('Access-Control-Allow-Origin', any ? '*' : origin);
    res.setHeader('Access-Control-Expose-Headers', EXPOSED_HEADERS);
    if (methods === null || req.headers['access-control-request-method'] === undefined) return;
    res.setHeader('Access-Control-Allow-Methods', methods.join(', '));
    res.setHeader('Access-Control-Allow-Headers', ALLOWED_HEADERS);
    res.setHeader('Access-Control-Max-Age', String(PREFLIGHT_MAX_AGE_SECONDS));
  }
}
