import type { Counter } from 'prom-client';
import type { JsonObject } from '../../../lib/records/fields.ts';
import { ClientGoneError } from '../client-gone.ts';
import { errorResponse } from '../error-response.ts';
import type { RoutedRequest } from '../request-context.ts';
import type { StepParts } from '../steps/step.ts';
import type { Message } from './message.ts';
import { RestCalls } from './rest-calls.ts';
import { type ListedTool, listedTool, type ToolAnswer } from './tools/tool.ts';
import { ToolArguments } from './tools/tool-arguments.ts';
import { TOOLS } from './tools/tools.ts';

/** The tools that one request may call, with its key and for its account. */
export class RequestTools {
  readonly #request: RoutedRequest;
  readonly #parts: StepParts;

  constructor(request: RoutedRequest, parts: StepParts) {
    this.#request = request;
    this.#parts = parts;
  }

  /** Returns the tools of the key's scopes. The route of each tool checks them again. */
  list(): ListedTool[] {
    const { identity } = this.#request;
    const mine = TOOLS.filter(({ access }) => identity?.scopes.includes(access));
    return mine.map((tool) => listedTool(tool, this.#defaultCollection !== undefined));
  }

  has(name: string): boolean {
    return TOOLS.some((tool) => tool.name === name);
  }

  /** Returns the answer of a tool, or its error in words. Never rejects. */
  async call(name: string, given: JsonObject): Promise<ToolAnswer & { isError?: boolean }> {
    const tool = TOOLS.find((each) => each.name === name)!;
    const { roundedInteger } = this.#request.body as Message;
    const calls: Counter<'tool' | 'outcome'> = this.#parts.metrics.toolCalls;
    try {
      const args = new ToolArguments(given, tool, { collection: this.#defaultCollection, roundedInteger });
      const answer = await tool.run(args, new RestCalls(this.#request, this.#parts));
      calls.inc({ tool: name, outcome: 'ok' });
      return answer;
    } catch (thrown) {
      // The answer has no reader, and no part of the service failed.
      if (thrown instanceof ClientGoneError) return refusal('The client has left.');
      const error = this.#parts.responder.report(this.#request, thrown);
      this.#request.failedWith = error.code;
      calls.inc({ tool: name, outcome: error.code });
      return refusal(this.#inWords(error));
    }
  }

  #inWords(error: ReturnType<StepParts['responder']['report']>): string {
    const { body } = errorResponse(error, this.#request.id, this.#parts.config);
    const { code, error: sentence, retryAfterSeconds } = body;
    const advice = retryAfterSeconds === undefined ? '' : ` Try again in ${retryAfterSeconds} s.`;
    return `${sentence}${advice} (${code})`;
  }

  get #defaultCollection(): string | undefined {
    return this.#request.query.get('collection');
  }
}

const refusal = (text: string) => ({ content: [{ type: 'text' as const, text }], isError: true });
