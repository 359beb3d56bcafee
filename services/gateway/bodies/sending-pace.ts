import type { IncomingMessage } from 'node:http';
import { ProvecError } from '../../../lib/errors.ts';
import { within } from '../../../lib/time/timers.ts';
import { ClientGoneError } from '../client-gone.ts';

/** What a client must send, over so much time of waiting for it. */
export interface SendingPace {
  bytesPerSecond: number;
  windowMs: number;
}

/**
 * The body of a request as it comes, no faster than it is taken. Throws REQUEST_TIMEOUT where the
 * client sends too slowly while it is waited for, ClientGoneError where it is gone. The connection
 * stays as it is when the reading is given up.
 */
export async function* pacedBody(req: IncomingMessage, pace: SendingPace): AsyncIterable<Buffer> {
  const chunks = req.iterator({ destroyOnReturn: false })[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  const take = (): Promise<IteratorResult<Buffer>> =>
    chunks.next().catch(() => {
      throw new ClientGoneError();
    });
  let next: ReturnType<typeof take> | null = null;
  let waitedMs = 0;
  let bytes = 0;
  for (;;) {
    const startedMs = performance.now();
    next ??= take();
    const leftMs = Math.max(1, pace.windowMs - waitedMs);
    const chunk = await within<IteratorResult<Buffer> | null>(next, leftMs, () => null);
    waitedMs += performance.now() - startedMs;
    if (chunk?.done) return;
    bytes += chunk?.value.byteLength ?? 0;
    if (chunk === null || waitedMs >= pace.windowMs) {
      if (bytes * 1_000 < pace.bytesPerSecond * pace.windowMs) {
        next.catch(() => undefined);
        throw new ProvecError('REQUEST_TIMEOUT', 'The request did not arrive in time; send it again.');
      }
      [waitedMs, bytes] = [0, 0];
    }
    if (chunk === null) continue;
    next = null;
    yield chunk.value;
  }
}
