import { type Route, routesBelow } from '../route.ts';
import { MCP } from './dialect.ts';

/** The one route of agents. Any API key may send messages; tools check its scopes. */
export const MCP_ROUTES: readonly Route[] = [
  routesBelow(MCP)('POST', '', 'collections.list', 'read', { query: ['collection'], carriesMessages: true }),
];
