export interface HostileOrder {
  url: string;
  method: string;
  headers: Record<string, string>;
  body: Uint8Array | null;
  /** Number of bytes to send without a declared length, instead of the body. */
  streamedBytes: number;
}
export type HostileReply = { status: number; text: string } | { failure: string };

const PIECE_BYTES = 1024 * 1024;

function stream(streamedBytes: number): ReadableStream<Uint8Array> {
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

export async function sendHostile({ url, method, headers, body, streamedBytes }: HostileOrder): Promise<HostileReply> {
  try {
    const sent = streamedBytes > 0 ? { body: stream(streamedBytes) } : body === null ? {} : { body };
    const response = await fetch(url, { method, headers, ...sent, duplex: 'half' } as RequestInit);
    return { status: response.status, text: await response.text() };
  } catch (error) {
    return { failure: String(error) };
  }
}
