import type { ValidationRule } from 'fastest-validator';
import type { ActionSchema, Context } from 'moleculer';
import type { ActionName, Actions } from '../contracts/actions/call.ts';
import type { Runtime } from '../process/runtime.ts';
import { auditedCall } from './audit/audited-call.ts';

/** Rules of an action's parameters, by name. */
type Checks = Readonly<Record<string, ValidationRule>>;

type FullName<S extends string, N extends string> = Extract<ActionName, `${S}.${N}`>;

/** The context of a call of one action. */
export type CallOf<A extends ActionName> = Context<Actions[A]['params']>;

/** The handlers of all actions of a service. */
export type Handlers<S extends string> = {
  [A in FullName<S, string> as A extends `${S}.${infer N}` ? N : never]: (
    ctx: CallOf<A>,
  ) => Actions[A]['result'] | Promise<Actions[A]['result']>;
};

/**
 * Returns the actions of a service: for each, the rules of its parameters, and the handler of that
 * name. `handlers` returns them once the service has been created. Actions in `timeouts` have their
 * own timeout in milliseconds, 0 for none. With `audit`, calls that change something are written to
 * the audit trail.
 */
export function handledActions<S extends string>(
  handlers: () => Record<keyof Handlers<S>, (ctx: never) => unknown>,
  checks: Record<keyof Handlers<S>, Checks>,
  timeouts: Partial<Record<keyof Handlers<S>, number>> = {},
  audit: Pick<Runtime, 'store' | 'clock' | 'log'> | null = null,
): Record<string, ActionSchema> {
  const names = Object.keys(checks) as (keyof Handlers<S>)[];
  const actions = names.map((name): [string, ActionSchema] => {
    const handle = (ctx: Context): unknown => handlers()[name](ctx as never);
    const handler =
      audit === null ? handle : (ctx: Context): unknown => auditedCall(audit, ctx as never, () => handle(ctx) as never);
    const timeout = timeouts[name];
    return [name, { params: checks[name], handler, ...(timeout !== undefined && { timeout }) }];
  });
  return Object.fromEntries(actions);
}
