import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { originRefusal } from './head-refusal.ts';
import { type Ledger, LedgerStoppedError } from './ledger.ts';
import { RPC_ERROR, RpcError } from './rpc-error.ts';
import { METHODS, READ_METHODS } from './rpc-methods.ts';

const BODY_MAX_BYTES = 1024 * 1024;
const BATCH_MAX = 100;
/** Maximum characters of a batch's response; later requests of the batch are then refused. */
const BATCH_ANSWER_MAX_CHARS = 32 * 1024 * 1024;
const REQUEST_TIMEOUT_MS = 10_000;

/** Preflight response; the headers are those of JSON and of Solana's client. */
const PREFLIGHT = {
  'access-control-allow-methods': 'POST',
  'access-control-allow-headers': 'content-type, solana-client',
  'access-control-allow-private-network': 'true',
  'access-control-max-age': '600',
};

export interface RpcServerOptions {
  /** Used if it is free; otherwise the system chooses one. */
  preferredPort: number;
  /** Origins whose web pages may call read methods. Other pages are refused. */
  readers: readonly string[];
  /** Called when the ledger can no longer guarantee durability. */
  onFatal(error: Error): void;
}

/** Serves JSON-RPC 2.0 over HTTP on 127.0.0.1 and returns the port. */
export function serveRpc(ledger: Ledger, options: RpcServerOptions): Promise<number> {
  const { preferredPort } = options;
  const server = createServer({ requestTimeout: REQUEST_TIMEOUT_MS }, (request, response) => {
    serve(ledger, options, request, response).catch(() => response.destroy());
  });
  const listening = new Promise<number>((resolve, reject) => {
    server.once('error', reject);
    server.listen(preferredPort, '127.0.0.1', () => {
      server.off('error', reject);
      resolve((server.address() as AddressInfo).port);
    });
  });
  return preferredPort === 0 ? listening : listening.catch(() => serveRpc(ledger, { ...options, preferredPort: 0 }));
}

async function serve(ledger: Ledger, options: RpcServerOptions, request: IncomingMessage, response: ServerResponse) {
  const refusal = originRefusal(request, options.readers);
  if (refusal !== null) {
    response.writeHead(refusal.status, { allow: 'POST', connection: 'close', 'content-type': 'text/plain' });
    return void response.end(`${refusal.message}\n`);
  }
  const { origin } = request.headers;
  if (origin !== undefined) response.setHeader('access-control-allow-origin', origin).setHeader('vary', 'Origin');
  if (request.method === 'OPTIONS') return void response.writeHead(204, PREFLIGHT).end();
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > BODY_MAX_BYTES) return void response.writeHead(413, { connection: 'close' }).end();
    chunks.push(chunk);
  }
  const text = answer(ledger, options, Buffer.concat(chunks).toString('utf8'), origin !== undefined);
  response.writeHead(200, { 'content-type': 'application/json' }).end(text);
}

/** Handles one request, or each request of a batch in order, and returns JSON. */
function answer(ledger: Ledger, options: RpcServerOptions, body: string, isFromPage: boolean): string {
  let request: unknown;
  try {
    request = JSON.parse(body);
  } catch {
    return JSON.stringify(failure(null, new RpcError(RPC_ERROR.PARSE, 'Parse error')));
  }
  if (!Array.isArray(request)) return JSON.stringify(answerOne(ledger, options, request, isFromPage));
  if (request.length === 0 || request.length > BATCH_MAX)
    return JSON.stringify(
      failure(null, new RpcError(RPC_ERROR.INVALID_REQUEST, `A batch has 1 to ${BATCH_MAX} requests`)),
    );
  let leftChars = BATCH_ANSWER_MAX_CHARS;
  const answers = request.map((each: unknown) => {
    const given = leftChars > 0 ? answerOne(ledger, options, each, isFromPage) : BATCH_TOO_LARGE;
    const text = JSON.stringify(given);
    leftChars -= text.length;
    return text;
  });
  return `[${answers.join()}]`;
}

function answerOne(ledger: Ledger, { onFatal }: RpcServerOptions, request: unknown, isFromPage: boolean): unknown {
  const fields = new Map(typeof request === 'object' && request !== null ? Object.entries(request) : []);
  const given: unknown = fields.get('id');
  const id = typeof given === 'string' || typeof given === 'number' ? given : null;
  try {
    if (fields.get('jsonrpc') !== '2.0') throw new RpcError(RPC_ERROR.INVALID_REQUEST, 'Invalid request');
    const name: unknown = fields.get('method');
    const method = METHODS.get(name);
    if (!method) throw new RpcError(RPC_ERROR.METHOD_NOT_FOUND, 'Method not found');
    if (isFromPage && !READ_METHODS.has(name))
      throw new RpcError(RPC_ERROR.INVALID_REQUEST, 'A web page may only read this ledger');
    ledger.blocks.tick();
    return { jsonrpc: '2.0', id, result: method(ledger, fields.get('params')) };
  } catch (error) {
    if (error instanceof LedgerStoppedError) onFatal(error);
    return failure(id, error instanceof RpcError ? error : new RpcError(RPC_ERROR.INTERNAL, 'Internal error'));
  }
}

const BATCH_TOO_LARGE = failure(
  null,
  new RpcError(RPC_ERROR.INVALID_REQUEST, 'The answers to this batch are too large: send it in parts'),
);

function failure(id: string | number | null, { code, message, data }: RpcError) {
  return { jsonrpc: '2.0', id, error: { code, message, data } };
}
