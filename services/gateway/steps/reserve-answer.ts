import type { RoutedRequest } from '../request-context.ts';
import type { StepParts } from './step.ts';

/** Reserves memory for the vectors in the response. Throws UNAVAILABLE. */
export function reserveAnswer(request: RoutedRequest, { config, overload }: StepParts): void {
  const { accountId, collection, route } = request;
  if (collection !== null) request.expectedBytes = route.expectedBytes(request, collection.dimensions);
  const mostBytes = request.expectedBytes + route.metadataMax(request) * config.limits.metadataMaxBytes;
  request.answerMemory = overload.answers.take(accountId, request.expectedBytes, mostBytes);
}
