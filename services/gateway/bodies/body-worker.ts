/**
 * Thread that parses and checks large bodies, one at a time, so that the main thread never does.
 */
import { parentPort } from 'node:worker_threads';
import { ProvecError } from '../../../lib/errors.ts';
import type { BodyJob, BodyOutcome } from './body-protocol.ts';
import { decodeBody } from './decoders.ts';

const port = parentPort;
if (port === null) throw new Error('body-worker.ts runs as a worker thread');

/** The buffers of an answer that can be handed over instead of copied. */
function transferable(body: unknown): ArrayBuffer[] {
  if (typeof body !== 'object' || body === null) return [];
  const { vector, records } = body as { vector?: unknown; records?: { vectors?: unknown } };
  return [vector, records?.vectors]
    .filter((value) => value instanceof Float32Array)
    .map((vector) => vector.buffer as ArrayBuffer);
}

function outcomeOf({ kind, bytes, context }: BodyJob): BodyOutcome {
  try {
    return { status: 'decoded', body: decodeBody(kind, bytes, context) };
  } catch (error) {
    if (error instanceof ProvecError) {
      return { status: 'refused', code: error.code, message: error.message, details: error.details };
    }
    return { status: 'fault', message: error instanceof Error ? error.message : String(error) };
  }
}

port.on('message', (job: BodyJob) => {
  const outcome = outcomeOf(job);
  port.postMessage(outcome, outcome.status === 'decoded' ? transferable(outcome.body) : []);
});
