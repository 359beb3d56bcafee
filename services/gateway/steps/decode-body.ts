import { batchBytes, type RecordBatch } from '../../../lib/records/batch.ts';
import type { Exchange } from '../exchange.ts';
import type { StepParts } from './step.ts';
import { queueRequestOf } from './wait-turn.ts';

/** A name or an address, with a port: what may stand in a URL that others read. */
const HOST = /^[\w.-]+(:\d+)?$|^\[[\da-fA-F:.]+\](:\d+)?$/;

/**
 * Parses and checks the body, and makes the action's parameters of it. Fields where there should be
 * no body are refused, too: they say that something else was meant. Throws the 400 that names them.
 */
export async function decodeBody(exchange: Exchange, parts: StepParts): Promise<void> {
  const { accountId, bytes, collection, item, query, req, route, search, target } = exchange;
  const { limits } = parts.config;
  const isSent = route.body !== null || bytes.byteLength > 0;
  const body = isSent ? await decoded(exchange, parts) : null;
  const { host = '' } = req.headers;
  const origin = parts.config.publicUrl ?? `http://${HOST.test(host) ? host : 'localhost'}`;
  const mayRead = exchange.identity?.scopes.includes('read') ?? false;
  exchange.input = { accountId, target, item, query, search, body, collection, mayRead, origin, limits };
  exchange.params = route.params(exchange.input);
}

async function decoded(exchange: Exchange, { bodies, clock, config, metrics }: StepParts): Promise<unknown> {
  const kind = exchange.route.body ?? 'none';
  const { limits } = config;
  const { collection } = exchange;
  const shape = collection && { dimensions: collection.dimensions, metric: collection.metric };
  const receivedBytes = exchange.bytes.byteLength;
  const startedMs = performance.now();
  try {
    const context = { limits, shape, wallMs: clock.wallMs() };
    const body: unknown = await bodies.decode(kind, exchange.bytes, context, queueRequestOf(exchange));
    // What is handed on is there until the action has ended. Small numbers are shorter as text, by
    // half at most.
    exchange.bodyMemory?.resize(Math.min(receivedBytes, batchBytesOf(body) ?? receivedBytes));
    return body;
  } finally {
    metrics.parseSeconds.observe((performance.now() - startedMs) / 1000);
  }
}

/** Of a body with a batch of records; null of any other. */
function batchBytesOf(body: unknown): number | null {
  const { records = null } = body as { records?: RecordBatch };
  return records && batchBytes(records);
}
