import type { RoutedRequest } from '../request-context.ts';
import { JSON_HEADERS } from '../responses/sender.ts';
import { sendBytes } from '../steps/answer.ts';
import type { StepParts } from '../steps/step.ts';
import type { Message } from './message.ts';
import { RequestTools } from './request-tools.ts';

/** Answers a message: one JSON text, or an empty 202 for a message that expects none. */
export async function answerMessage(request: RoutedRequest, parts: StepParts): Promise<void> {
  // Loaded when the first agent comes: the SDK would cost every start 100 ms and 30 MB.
  const { handleMessage } = await import('./message-handler.ts');
  const { json } = request.body as Message;
  const { status, text } = await handleMessage(json, request.req.headers, new RequestTools(request, parts));
  request.bodyMemory?.release();
  await sendBytes(request, parts, { status, headers: JSON_HEADERS }, Buffer.from(text));
}
