import { batchBytes, type RecordBatch } from '../../../lib/records/batch.ts';
import type { RequestContext } from '../request-context.ts';
import type { StepParts } from './step.ts';
import { queueRequestOf } from './wait-turn.ts';

/** Host name or address with an optional port. Other Host headers never end up in a URL. */
const HOST = /^[\w.-]+(:\d+)?$|^\[[\da-fA-F:.]+\](:\d+)?$/;

/**
 * Parses and checks the body and builds the action's parameters. A body with fields where none is
 * expected is refused, because the client meant something else. Throws the 400 that names them.
 */
export async function decodeBody(exchange: RequestContext, parts: StepParts): Promise<void> {
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

async function decoded(exchange: RequestContext, { bodies, clock, config, metrics }: StepParts): Promise<unknown> {
  const kind = exchange.route.body ?? 'none';
  const { limits } = config;
  const { collection } = exchange;
  const shape = collection && { dimensions: collection.dimensions, metric: collection.metric };
  const receivedBytes = exchange.bytes.byteLength;
  const startedMs = performance.now();
  try {
    const context = { limits, shape, wallMs: clock.wallMs() };
    const body: unknown = await bodies.decode(kind, exchange.bytes, context, queueRequestOf(exchange));
    // The decoded body stays in memory until the action ends. Short numbers can be smaller as text,
    // by half at most.
    exchange.bodyMemory?.resize(Math.min(receivedBytes, batchBytesOf(body) ?? receivedBytes));
    return body;
  } finally {
    metrics.parseSeconds.observe((performance.now() - startedMs) / 1000);
  }
}

/** Returns the bytes of a body's record batch, or null if it has none. */
function batchBytesOf(body: unknown): number | null {
  const { records = null } = body as { records?: RecordBatch };
  return records && batchBytes(records);
}
