import type { IncomingMessage } from 'node:http';
import { ProvecError } from '../../../lib/errors.ts';
import { INTERNAL_LIMITS } from '../../../lib/limits.ts';
import { withTimeLimit } from '../../../lib/time/timers.ts';
import { ClientGoneError } from '../client-gone.ts';

/** Minimum sending rate of a client, averaged over `windowMs` of waiting for it. */
export interface SendingPace {
  bytesPerSecond: number;
  windowMs: number;
}

/** Pace of imports, and of compressed bodies. */
export const SENDING_PACE: SendingPace = { bytesPerSecond: 1024, windowMs: INTERNAL_LIMITS.requestBodyTimeoutMs };

const ARRIVALS = ['readable', 'end', 'error', 'close'];

/**
 * Yields the body of a request as it arrives, no faster than it is consumed. Throws REQUEST_TIMEOUT
 * if the client sends too slowly while the gateway waits for data, and ClientGoneError if it
 * disconnects. A consumer that stops early leaves the connection open; the request can still be
 * read.
 */
export async function* pacedBody(req: IncomingMessage, pace: SendingPace): AsyncIterable<Buffer> {
  let wake = (): void => undefined;
  const onArrival = (): void => wake();
  // Node's own iterator would stay attached to the request until more data arrives, and block other
  // readers.
  for (const event of ARRIVALS) req.on(event, onArrival);
  try {
    let waitedMs = 0;
    let bytes = 0;
    for (;;) {
      const chunk = req.destroyed ? null : (req.read() as Buffer | null);
      if (chunk === null && req.readableEnded) return;
      if (chunk === null && req.destroyed) throw new ClientGoneError();
      bytes += chunk?.byteLength ?? 0;
      if (waitedMs >= pace.windowMs) {
        if (bytes * 1_000 < pace.bytesPerSecond * pace.windowMs)
          throw new ProvecError('REQUEST_TIMEOUT', 'The request did not arrive in time; send it again.');
        [waitedMs, bytes] = [0, 0];
      }
      if (chunk !== null) {
        yield chunk;
        continue;
      }
      const startedMs = performance.now();
      const arrival = new Promise<void>((resolve) => {
        wake = resolve;
      });
      await withTimeLimit(arrival, Math.max(1, pace.windowMs - waitedMs), () => undefined);
      waitedMs += performance.now() - startedMs;
    }
  } finally {
    for (const event of ARRIVALS) req.off(event, onArrival);
  }
}
