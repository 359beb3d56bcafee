import type { Logger } from 'pino';
import type { Clock } from '../../lib/time/clock.ts';
import type { Metrics } from '../../mixins/metrics.ts';
import type { RequestContext } from './request-context.ts';

/** Status logged when the client closes the connection before the response ends, as in nginx. */
const CLIENT_CLOSED = 499;
/** Status label of a response that the gateway aborted after sending its head. */
const CUT_OFF = 'cut_off';

/** Paths that probes poll. A 503 while starting is a valid answer, not a fault. */
const PROBES = new Set(['/livez', '/readyz', '/metrics']);

/**
 * Logs one line and records one observation per finished request: method, route pattern, status,
 * time, request id and account, plus the collection when a write found no capacity. Paths, query
 * strings, bodies and headers are never logged.
 *
 * The level is `debug`, or `warn` for:
 * - status 500 and above, except 501 (for probes: only 500);
 * - `OUT_OF_CAPACITY`, whatever the status (403 below /pinecone);
 * - a response that the gateway aborted; the line has the reason.
 */
export function observeRequest(request: RequestContext, log: Logger, metrics: Metrics, clock: Clock): void {
  metrics.requestsInFlight.inc();
  request.res.once('close', () => {
    const { res, methodLabel: method, pattern: route } = request;
    const cutOff = res.writableFinished ? null : request.cutOff;
    const status = res.writableFinished || cutOff !== null ? res.statusCode : CLIENT_CLOSED;
    const ms = clock.monotonicMs() - request.startedMs;
    metrics.requestsInFlight.dec();
    metrics.requests.inc({ route, method, status: cutOff === null ? String(status) : CUT_OFF });
    if (cutOff !== null) metrics.answersCutOff.inc({ route, reason: cutOff });
    metrics.requestSeconds.observe({ route, method }, ms / 1000);
    // A 501 is a client error: any client can request an unsupported operation.
    const isFailure = PROBES.has(route) ? status === 500 : status >= 500 && status !== 501;
    const isOutOfRoom = request.failedWith === 'OUT_OF_CAPACITY';
    const level = isFailure || isOutOfRoom || cutOff !== null ? 'warn' : 'debug';
    if (!log.isLevelEnabled(level)) return;
    const account = request.identity?.accountId;
    log[level](
      {
        method,
        route,
        status,
        ...(cutOff === null ? {} : { cutOff }),
        ms: Math.round(ms * 100) / 100,
        requestId: request.id,
        ...(account === undefined ? {} : { account }),
        ...(isOutOfRoom && { code: request.failedWith, collectionId: request.collection?.id }),
      },
      'request',
    );
  });
}
