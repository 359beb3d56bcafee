import type { ActionName, Actions } from '../../../contracts/actions/call.ts';
import type { CollectionRow } from '../../../store/catalog.ts';
import type { RoutedRequest } from '../request-context.ts';
import { giveBackQueries } from '../steps/answer.ts';
import { requireScopes } from '../steps/authenticate.ts';
import { CALLING_STEPS } from '../steps/calling-steps.ts';
import { checkTarget } from '../steps/check-target.ts';
import { resolveCollection } from '../steps/resolve-collection.ts';
import type { Step, StepParts } from '../steps/step.ts';
import { withNearestName } from '../steps/suggest-name.ts';
import type { TextEmbedder } from './embeddings/text-embedder.ts';
import type { RestRoute } from './rest-routes.ts';

/** Node 24 has `JSON.rawJSON`; the compiler's library does not declare it yet. */
const { rawJSON: rawJson } = JSON as unknown as { rawJSON(text: string): object };

/** Steps before the body is made. The message has been counted against the key's rate. */
const OPENING: readonly Step[] = [requireScopes, checkTarget, resolveCollection];

/** What a tool gives a route. */
interface Given<N extends ActionName, T> {
  /** Name of the collection; empty for a route without one. */
  target?: string;
  query?: Readonly<Record<string, string | undefined>>;
  /** Makes the body, once it is certain that the key may call the route on the collection. */
  body?: (collection: CollectionRow) => object | Promise<object>;
  /** Makes the answer while the result's memory is reserved. */
  answer(result: Actions[N]['result'], request: RoutedRequest): T;
}

/**
 * Calls routes of `/api/v1` for a tool, with the key and for the account of one message. Each call
 * takes the steps of the route, so it is checked, queued, counted and cancelled like a request of a
 * REST client.
 */
export class RestCalls {
  readonly #message: RoutedRequest;
  readonly #parts: StepParts;

  constructor(message: RoutedRequest, parts: StepParts) {
    this.#message = message;
    this.#parts = parts;
  }

  /** Makes vectors of texts; null if the operator named no endpoint. */
  get embedder(): TextEmbedder | null {
    const { embeddings } = this.#parts;
    return embeddings?.forRequest(this.#message) ?? null;
  }

  /** Throws the errors of the route. */
  async call<N extends ActionName, T>(route: RestRoute<N>, given: Given<N, T>): Promise<T> {
    const parts = this.#parts;
    const request = this.#message.forRoute(route, given.target ?? '', this.#message.caller);
    try {
      for (const [name, value] of Object.entries(given.query ?? {}))
        if (value !== undefined) request.query = new Map([...request.query, [name, value]]);
      await run(OPENING, request, parts);
      if (given.body !== undefined) await setBody(request, await given.body(request.collection!));
      await run(CALLING_STEPS, request, parts);
      return this.#answered(request, given);
    } catch (error) {
      throw await withNearestName(request, parts, error);
    } finally {
      request.release();
    }
  }

  #answered<N extends ActionName, T>(request: RoutedRequest, { answer }: Given<N, T>): T {
    const { result, route } = request;
    try {
      request.answerMemory?.resize(route.heldBytes(result));
      return answer(result as Actions[N]['result'], request);
    } catch (error) {
      const count = route.countedQueries(result);
      if (count > 0) giveBackQueries(request, this.#parts, count);
      throw error;
    }
  }
}

async function run(steps: readonly Step[], request: RoutedRequest, parts: StepParts): Promise<void> {
  for (const step of steps) await step(request, parts);
}

function setBody(request: RoutedRequest, body: object): void {
  request.bytes = new TextEncoder().encode(JSON.stringify(body, exactNumber));
  request.bodyBytes = request.bytes.byteLength;
}

/** Keeps infinity, as which a number past the largest double was read, for the route to refuse. */
function exactNumber(_name: string, value: unknown): unknown {
  if (value === Number.POSITIVE_INFINITY) return rawJson('1e999');
  if (value === Number.NEGATIVE_INFINITY) return rawJson('-1e999');
  return value;
}
