import { once } from 'node:events';
import { type ClientRequest, type IncomingMessage, request } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';

export interface LeavingOrder {
  url: string;
  method: string;
  headers: Record<string, string>;
  body: Buffer | null;
}

export interface LeavingReply {
  status: number;
  /** Time from the last byte sent to the last byte of the answer. */
  tookMs: number;
  /** Beginning of an answer that is an error. */
  error: string;
}

const ERROR_CHARS = 300;

function begun({ url, method, headers, body }: LeavingOrder): ClientRequest {
  const length = body === null ? {} : { 'content-length': body.length };
  const sent = request(url, { method, headers: { ...headers, ...length }, agent: false });
  // A reset after leaving is expected. Before it, `once` rejects with the error.
  return sent.on('error', () => undefined);
}

/** Sends a request and reads its answer to the end. */
export async function sendWhole(order: LeavingOrder): Promise<LeavingReply> {
  const sent = begun(order);
  sent.end(order.body ?? undefined);
  const [sentMs, [answer]] = await Promise.all([
    once(sent, 'finish').then(() => performance.now()),
    once(sent, 'response') as Promise<[IncomingMessage]>,
  ]);
  const status = answer.statusCode!;
  let error = '';
  for await (const piece of answer) {
    if (status >= 400 && error.length < ERROR_CHARS) error += piece;
  }
  return { status, tookMs: performance.now() - sentMs, error };
}

/** Sends a request and closes the connection some time after its last byte. */
export async function leaveAfter(order: LeavingOrder, ms: number): Promise<void> {
  const sent = begun(order);
  sent.end(order.body ?? undefined);
  await once(sent, 'finish');
  await delay(ms);
  sent.destroy();
}

/** Sends half of the body and closes the connection once `hasArrived`. */
export async function leaveHalfWay(
  order: LeavingOrder,
  hasArrived: (bytes: number) => Promise<unknown>,
): Promise<void> {
  const sent = begun(order);
  const half = order.body!.subarray(0, order.body!.length >> 1);
  sent.write(half);
  await hasArrived(half.length);
  sent.destroy();
}
