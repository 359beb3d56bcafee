import type { ValidationRule } from 'fastest-validator';
import type { ActionHandler, ActionSchema } from 'moleculer';

export type Checks = Readonly<Record<string, ValidationRule>>;

/** Returns `actions` with parameter rules: an action's own, or `common`. */
export function checkedActions<N extends string>(
  common: Checks,
  own: Partial<Record<NoInfer<N>, Checks>>,
  actions: Record<N, ActionSchema | ActionHandler>,
): Record<string, ActionSchema> {
  const entries = Object.entries<ActionSchema | ActionHandler>(actions).map(
    ([name, action]): [string, ActionSchema] => {
      const schema = typeof action === 'function' ? { handler: action } : action;
      return [name, { ...schema, params: own[name as N] ?? common }];
    },
  );
  return Object.fromEntries(entries);
}
