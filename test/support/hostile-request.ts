import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { expect } from '@jest/globals';
import { ERROR_TABLE, type ErrorCode } from '../../lib/errors.ts';
import { expectDurationBelow } from './duration.ts';
import { isThorough } from './effort.ts';
import { type HostileOrder, type HostileReply, sendHostile } from './hostile-sender.ts';
import { LoopWatch } from './loop-watch.ts';

/** Internals that no response may reveal. */
const INTERNALS = /node_modules|\.ts\b|file:\/\/|\bat \S+ \(|SQLite|moleculer/i;
export const LOOP_HELD_MAX_MS = 200;

export interface HostileAnswer {
  status: number;
  text: string;
  /** Longest time that this process's event loop was blocked, in ms; 0 in the gate. */
  heldMs: number;
}

/** Thrown when the connection closed before the response arrived. */
export class CutOffError extends Error {
  override name = 'CutOffError';
}

/**
 * Sends a request exactly as given. A number as body sends that many bytes without a declared
 * length. In the long suites, where the service is in this process and its event loop is measured,
 * a separate thread sends it.
 */
export async function hostileRequest(
  { url, key }: { url: string; key: string },
  method: string,
  path: string,
  body?: string | Buffer | number,
  headers: Record<string, string> = {},
): Promise<HostileAnswer> {
  const order: HostileOrder = {
    url: `${url}/api/v1${path}`,
    method,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
    body: body === undefined || typeof body === 'number' ? null : new Uint8Array(Buffer.from(body)),
    streamedBytes: typeof body === 'number' ? body : 0,
  };
  const { reply, heldMs } = isThorough ? await sendByThread(order) : { reply: await sendHostile(order), heldMs: 0 };
  if ('failure' in reply) throw new CutOffError(reply.failure);
  return { ...reply, heldMs };
}

async function sendByThread(order: HostileOrder): Promise<{ reply: HostileReply; heldMs: number }> {
  const worker = new Worker(new URL('./hostile-client.ts', import.meta.url), {
    workerData: order,
    transferList: order.body === null ? [] : [order.body.buffer as ArrayBuffer],
  });
  const watch = new LoopWatch();
  const [reply] = (await once(worker, 'message')) as [HostileReply];
  const heldMs = await watch.end();
  await worker.terminate();
  return { reply, heldMs };
}

/**
 * Expects a documented refusal with that code that reveals no internals, and an event loop that was
 * not blocked.
 */
export function expectRefusal({ status, text, heldMs }: HostileAnswer, code: ErrorCode): Record<string, unknown> {
  const body = JSON.parse(text) as Record<string, unknown>;
  expect({ status, body }).toMatchObject({
    status: ERROR_TABLE[code].status,
    body: { error: expect.stringMatching(/\.$/), code, status, requestId: expect.any(String) },
  });
  const known = ['error', 'code', 'status', 'requestId', 'details', 'pricingUrl', 'statusUrl', 'retryAfterSeconds'];
  expect(Object.keys(body).filter((name) => !known.includes(name))).toEqual([]);
  expect(text).not.toMatch(INTERNALS);
  expectDurationBelow(heldMs, LOOP_HELD_MAX_MS);
  return body;
}
