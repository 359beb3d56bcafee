/** Dialect of agents: errors outside a tool are JSON-RPC errors with the status of the REST API. */
import type { ErrorCode } from '../../../lib/errors.ts';
import { type Dialect, PROVEC } from '../dialect.ts';
import { errorResponse } from '../error-response.ts';

const PARSE_ERROR = -32_700;
const INVALID_REQUEST = -32_600;
/** Any other error. JSON-RPC leaves its meaning to the server; `data.code` has ours. */
const SERVER_ERROR = -32_000;

const CODES: { readonly [C in ErrorCode]?: number } = {
  INVALID_JSON: PARSE_ERROR,
  INVALID_ARGUMENT: INVALID_REQUEST,
};

export const MCP: Dialect = {
  ...PROVEC,
  base: '/mcp',
  errorResponse(error, requestId, config) {
    const { body, headers, status } = errorResponse(error, requestId, config);
    const { error: message, ...data } = body;
    const code = CODES[error.code] ?? SERVER_ERROR;
    return { status, headers, body: { jsonrpc: '2.0', id: null, error: { code, message, data } } };
  },
};
