/**
 * A client in a process of its own, so that what it costs is not counted as the service's: sends
 * the request of its order and leaves after `leaveAfterMs`, or reads the answer to its end where
 * that is null.
 */
import { readFileSync } from 'node:fs';
import { request } from 'node:http';

export interface LeavingOrder {
  url: string;
  method: string;
  headers: Record<string, string>;
  bodyFile: string | null;
  leaveAfterMs: number | null;
}

export interface LeavingReply {
  /** Status of the answer, 0 if the client left before it. */
  status: number;
  /** From the last byte sent to the answer's last byte, or to its leaving. */
  tookMs: number;
  /** Beginning of an answer that is an error. */
  error: string;
}

function send({ url, method, headers, bodyFile, leaveAfterMs }: LeavingOrder): void {
  const body = bodyFile === null ? null : readFileSync(bodyFile);
  const sent = request(url, { method, headers: { ...headers, ...(body && { 'content-length': body.length }) } });
  let sentMs = performance.now();
  let status = 0;
  let error = '';
  const end = (): void => {
    process.send!({ status, tookMs: performance.now() - sentMs, error } satisfies LeavingReply);
    process.disconnect();
    sent.destroy();
  };
  sent.on('error', (fault) => {
    if (error === '') error = String(fault);
  });
  sent.once('finish', () => {
    sentMs = performance.now();
    if (leaveAfterMs !== null) setTimeout(end, leaveAfterMs);
  });
  sent.once('response', (answer) => {
    if (leaveAfterMs !== null) return;
    status = answer.statusCode!;
    answer.on('data', (piece: Buffer) => {
      if (status >= 400 && error.length < 300) error += piece.toString();
    });
    answer.once('close', end);
  });
  sent.end(body);
}

process.once('message', (order) => send(order as LeavingOrder));
