/** JSON-RPC error; the codes are those of Solana's validators. */
export class RpcError extends Error {
  readonly code: number;
  readonly data: unknown;

  constructor(code: number, message: string, data?: unknown) {
    super(message);
    this.name = 'RpcError';
    this.code = code;
    this.data = data;
  }
}

export const RPC_ERROR = Object.freeze({
  PARSE: -32700,
  INVALID_REQUEST: -32600,
  METHOD_NOT_FOUND: -32601,
  INVALID_PARAMS: -32602,
  INTERNAL: -32603,
  PREFLIGHT_FAILURE: -32002,
  SIGNATURE_FAILURE: -32003,
  BLOCK_CLEANED_UP: -32001,
  BLOCK_NOT_AVAILABLE: -32004,
  UNSUPPORTED_VERSION: -32015,
  MIN_CONTEXT_SLOT: -32016,
});

export const invalidParams = (message: string): RpcError =>
  new RpcError(RPC_ERROR.INVALID_PARAMS, `Invalid params: ${message}`);
