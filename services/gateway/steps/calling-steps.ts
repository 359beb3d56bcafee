import { requireScopes } from './authenticate.ts';
import { callAction } from './call-action.ts';
import { decodeBody } from './decode-body.ts';
import { reserveAnswer } from './reserve-answer.ts';
import type { Step } from './step.ts';
import { adjustTurn, waitTurn } from './wait-turn.ts';

/** Steps from the body to the action's result, for a request and for a tool of an agent alike. */
export const CALLING_STEPS: readonly Step[] = [
  waitTurn,
  decodeBody,
  requireScopes,
  adjustTurn,
  reserveAnswer,
  callAction,
];
