/** Thread of `hostileRequest`: what sending costs must not count into what the service's thread is held. */
import { parentPort, workerData } from 'node:worker_threads';

export interface HostileOrder {
  url: string;
  method: string;
  headers: Record<string, string>;
  body: Uint8Array | null;
  /** Sends so many bytes without a declared length instead. */
  streamedBytes: number;
}
export type HostileReply = { status: number; text: string } | { failure: string };

const { url, method, headers, body, streamedBytes } = workerData as HostileOrder;
const PIECE_BYTES = 1024 * 1024;

function stream(): ReadableStream<Uint8Array> {
  const piece = new Uint8Array(PIECE_BYTES).fill(0x20);
  let sent = 0;
  return new ReadableStream({
    pull(controller) {
      if (sent >= streamedBytes) return controller.close();
      sent += piece.length;
      controller.enqueue(piece);
    },
  });
}

try {
  const sent = streamedBytes > 0 ? { body: stream() } : body === null ? {} : { body };
  const response = await fetch(url, { method, headers, ...sent, duplex: 'half' } as RequestInit);
  parentPort!.postMessage({ status: response.status, text: await response.text() } satisfies HostileReply);
} catch (error) {
  parentPort!.postMessage({ failure: String(error) } satisfies HostileReply);
}
