import type { Exchange } from '../exchange.ts';
import { parseQueryString } from '../query-string.ts';

/**
 * Parses the query string, of which only parameters of the route may occur, and takes the route
 * that they choose. Throws INVALID_ARGUMENT.
 */
export function readQueryString(exchange: Exchange): void {
  const { route, search } = exchange;
  exchange.query = parseQueryString(search, route.query);
  for (const name of exchange.query.keys()) exchange.route = route.whenGiven[name] ?? exchange.route;
}
