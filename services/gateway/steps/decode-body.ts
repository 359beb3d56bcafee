import { batchBytes, type RecordBatch } from '../../../lib/records/batch.ts';
import { schemeOf } from '../../../process/config.ts';
import type { RequestContext } from '../request-context.ts';
import type { StepParts } from './step.ts';
import { queueRequestOf } from './wait-turn.ts';

/** Host name or address with an optional port. Other Host headers never end up in a URL. */
const HOST = /^[\w.-]+(:\d+)?$|^\[[\da-fA-F:.]+\](:\d+)?$/;

/**
 * Parses and checks the body and builds the action's parameters. A body with fields where none is
 * expected is refused, because the client meant something else. Throws the 400 that names them.
 */
export async function decodeBody(request: RequestContext, parts: StepParts): Promise<void> {
  const { accountId, bytes, collection, item, query, req, route, search, target } = request;
  const { limits } = parts.config;
  const isSent = route.body !== null || bytes.byteLength > 0;
  const body = isSent ? await decoded(request, parts) : null;
  const { host = '' } = req.headers;
  const origin = parts.config.publicUrl ?? `${schemeOf(parts.config)}://${HOST.test(host) ? host : 'localhost'}`;
  const mayRead = request.identity?.scopes.includes('read') ?? false;
  request.input = { accountId, target, item, query, search, body, collection, mayRead, origin, limits };
  request.params = route.params(request.input);
}

async function decoded(request: RequestContext, { bodies, clock, config, metrics }: StepParts): Promise<unknown> {
  const kind = request.route.body ?? 'none';
  const { limits } = config;
  const { collection } = request;
  const shape = collection && { dimensions: collection.dimensions, metric: collection.metric };
  const receivedBytes = request.bytes.byteLength;
  const startedMs = performance.now();
  try {
    const context = { limits, shape, wallMs: clock.wallMs() };
    const body: unknown = await bodies.decode(kind, request.bytes, context, queueRequestOf(request));
    // The decoded body stays in memory until the action ends. Short numbers can be smaller as text,
    // by half at most.
    request.bodyMemory?.resize(Math.min(receivedBytes, batchBytesOf(body) ?? receivedBytes));
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
