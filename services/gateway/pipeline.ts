/**
 * The life of a request once its route is found: the steps in their order, each in a file of its
 * own. The first that throws decides the answer, so the order is part of the contract: nobody
 * learns what they may not know (whether a collection exists), nobody sends a body for nothing, and
 * a request that is refused because there are too many costs no more than to find out whose it is.
 */
import type { Exchange } from './exchange.ts';
import { answer } from './steps/answer.ts';
import { authenticate } from './steps/authenticate.ts';
import { callAction } from './steps/call-action.ts';
import { decodeBody } from './steps/decode-body.ts';
import { limitRate } from './steps/limit-rate.ts';
import { readBody } from './steps/read-body.ts';
import { readQueryString } from './steps/read-query-string.ts';
import { requireScope } from './steps/require-scope.ts';
import { reserveAnswer } from './steps/reserve-answer.ts';
import { resolveCollection } from './steps/resolve-collection.ts';
import type { Step, StepParts } from './steps/step.ts';
import { waitTurn } from './steps/wait-turn.ts';

const STEPS: readonly Step[] = [
  authenticate,
  limitRate,
  requireScope,
  resolveCollection,
  readQueryString,
  readBody,
  waitTurn,
  decodeBody,
  reserveAnswer,
  callAction,
  answer,
];

export class Pipeline {
  readonly #parts: StepParts;

  constructor(parts: StepParts) {
    this.#parts = parts;
  }

  /** Takes a request from its route to its answer; never rejects. */
  async run(exchange: Exchange): Promise<void> {
    try {
      for (const step of STEPS) await step(exchange, this.#parts);
    } catch (error) {
      this.#parts.responder.fail(exchange, error);
    }
  }
}
