import type { IncomingMessage } from 'node:http';
import { ProvecError } from '../../../lib/errors.ts';
import { within } from '../../../lib/time/timers.ts';
import { ClientGoneError } from '../client-gone.ts';

/** What a client must send, over so much time of waiting for it. */
export interface SendingPace {
  bytesPerSecond: number;
  windowMs: number;
}

const ARRIVALS = ['readable', 'end', 'error', 'close'];

/**
 * The body of a request as it comes, no faster than it is taken. Throws REQUEST_TIMEOUT where the
 * client sends too slowly while it is waited for, ClientGoneError where it is gone. When the
 * reading is given up, the connection stays as it is, and others may read on.
 */
export async function* pacedBody(req: IncomingMessage, pace: SendingPace): AsyncIterable<Buffer> {
  let wake = (): void => undefined;
  const onArrival = (): void => wake();
  // Node's own iterator would stay with the request until more came: nothing flows beside it.
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
      await within(arrival, Math.max(1, pace.windowMs - waitedMs), () => undefined);
      waitedMs += performance.now() - startedMs;
    }
  } finally {
    for (const event of ARRIVALS) req.off(event, onArrival);
  }
}
