import { ProvecError } from '../../../lib/errors.ts';
import type { Exchange } from '../exchange.ts';

/** Throws FORBIDDEN when the key lacks the route's scope. */
export function requireScope({ identity, route }: Exchange): void {
  const { access } = route;
  if (access === 'operator' || identity!.scopes.includes(access)) return;
  throw new ProvecError('FORBIDDEN', `This API key lacks the scope "${access}"; use a key that has it.`);
}
