import { INTERNAL_LIMITS } from '../../../lib/limits.ts';
import { boundsOf } from '../bodies/decoders.ts';
import { parseJsonBody } from '../bodies/json-body.ts';
import { RoundedInteger } from '../bodies/rounded-integer.ts';
import type { RoutedRequest } from '../request-context.ts';
import { bodyOf } from '../steps/read-body.ts';
import type { StepParts } from '../steps/step.ts';
import { waitTurn } from '../steps/wait-turn.ts';
import type { Message } from './message.ts';

/**
 * Reads the message of an agent into `request.body`. Parses it with a permit of the queue of small
 * requests, which it gives back before any tool waits for one. Throws INVALID_JSON, also for a
 * batch, BODY_TOO_LARGE, UNSUPPORTED_MEDIA_TYPE, UNAVAILABLE or ClientGoneError.
 */
export async function readMessage(request: RoutedRequest, parts: StepParts): Promise<void> {
  const { config, overload } = parts;
  const maxBytes = Math.min(config.limits.bodyMaxBytes, INTERNAL_LIMITS.mcpBodyMaxBytes);
  const bytes = await bodyOf(request, maxBytes, overload.bodies);
  request.bodyBytes = bytes.byteLength;
  await waitTurn(request, parts);
  try {
    const rounded = new RoundedInteger();
    const json = parseJsonBody(bytes, boundsOf(config.limits), null, rounded);
    request.body = { json, roundedInteger: rounded.text } satisfies Message;
  } finally {
    request.permit?.release();
  }
}
