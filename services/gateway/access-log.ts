import type { Logger } from 'pino';
import type { Clock } from '../../lib/time/clock.ts';
import type { Metrics } from '../../mixins/metrics.ts';
import type { Exchange } from './exchange.ts';

/** As nginx has it: the client closed the connection before it had the answer. */
const CLIENT_CLOSED = 499;
/** In place of the status that such an answer began with. */
const CUT_OFF = 'cut_off';

/** Asked every few seconds: that a process is not ready yet is an answer, not a fault. */
const PROBES = new Set(['/livez', '/readyz', '/metrics']);

/**
 * One line and one observation per finished request: method, route pattern, status, time, request
 * id, account; also the collection of a write for which there was no room. Never a path, query
 * string, body or header. At `debug`; at `warn` answers of 500 and above (not 501; of probes 500
 * alone), refusals for want of room whatever their status (below /pinecone it is 403), and answers
 * that the gateway cut off, with the reason.
 */
export function watch(exchange: Exchange, log: Logger, metrics: Metrics, clock: Clock): void {
  metrics.requestsInFlight.inc();
  exchange.res.once('close', () => {
    const { res, methodLabel: method, pattern: route } = exchange;
    const cutOff = res.writableFinished ? null : exchange.cutOff;
    const status = res.writableFinished || cutOff !== null ? res.statusCode : CLIENT_CLOSED;
    const ms = clock.monotonicMs() - exchange.startedMs;
    metrics.requestsInFlight.dec();
    metrics.requests.inc({ route, method, status: cutOff === null ? String(status) : CUT_OFF });
    if (cutOff !== null) metrics.answersCutOff.inc({ route, reason: cutOff });
    metrics.requestSeconds.observe({ route, method }, ms / 1000);
    // A 501 is the client's: anybody may ask for what is not there.
    const isFailure = PROBES.has(route) ? status === 500 : status >= 500 && status !== 501;
    const isOutOfRoom = exchange.failedWith === 'OUT_OF_CAPACITY';
    const level = isFailure || isOutOfRoom || cutOff !== null ? 'warn' : 'debug';
    if (!log.isLevelEnabled(level)) return;
    const account = exchange.identity?.accountId;
    log[level](
      {
        method,
        route,
        status,
        ...(cutOff === null ? {} : { cutOff }),
        ms: Math.round(ms * 100) / 100,
        requestId: exchange.id,
        ...(account === undefined ? {} : { account }),
        ...(isOutOfRoom && { code: exchange.failedWith, collectionId: exchange.collection?.id }),
      },
      'request',
    );
  });
}
