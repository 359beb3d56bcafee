import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Ledger, LedgerStoppedError } from './ledger.ts';
import { RPC_ERROR, RpcError } from './rpc-error.ts';
import { METHODS } from './rpc-methods.ts';

const BODY_MAX_BYTES = 1024 * 1024;
const REQUEST_TIMEOUT_MS = 10_000;

/**
 * Serves JSON-RPC 2.0 over HTTP on 127.0.0.1 and gives the port: `preferredPort` when it is free,
 * else one the system chooses. `onFatal` is told when the ledger can no longer keep its promises.
 */
export function serveRpc(ledger: Ledger, onFatal: (error: Error) => void, preferredPort: number): Promise<number> {
  const server = createServer({ requestTimeout: REQUEST_TIMEOUT_MS }, (request, response) => {
    serve(request, response, (body) => answer(ledger, onFatal, body)).catch(() => response.destroy());
  });
  const listening = new Promise<number>((resolve, reject) => {
    server.once('error', reject);
    server.listen(preferredPort, '127.0.0.1', () => {
      server.off('error', reject);
      resolve((server.address() as AddressInfo).port);
    });
  });
  return preferredPort === 0 ? listening : listening.catch(() => serveRpc(ledger, onFatal, 0));
}

async function serve(request: IncomingMessage, response: ServerResponse, answerTo: (body: string) => unknown) {
  if (request.method !== 'POST') return void response.writeHead(405, { allow: 'POST' }).end();
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > BODY_MAX_BYTES) return void response.writeHead(413, { connection: 'close' }).end();
    chunks.push(chunk);
  }
  const body = JSON.stringify(answerTo(Buffer.concat(chunks).toString('utf8')));
  response.writeHead(200, { 'content-type': 'application/json' }).end(body);
}

function answer(ledger: Ledger, onFatal: (error: Error) => void, body: string): unknown {
  let id: unknown = null;
  try {
    const request = parse(body);
    const given = request.get('id');
    if (typeof given === 'string' || typeof given === 'number') id = given;
    const method = METHODS.get(request.get('method'));
    if (!method) throw new RpcError(RPC_ERROR.METHOD_NOT_FOUND, 'Method not found');
    ledger.blocks.tick();
    return { jsonrpc: '2.0', id, result: method(ledger, request.get('params')) };
  } catch (error) {
    if (error instanceof LedgerStoppedError) onFatal(error);
    const known = error instanceof RpcError ? error : new RpcError(RPC_ERROR.INTERNAL, 'Internal error');
    const { code, message, data } = known;
    return { jsonrpc: '2.0', id, error: { code, message, data } };
  }
}

/** The fields of a request. */
function parse(body: string): Map<string, unknown> {
  let request: unknown;
  try {
    request = JSON.parse(body);
  } catch {
    throw new RpcError(RPC_ERROR.PARSE, 'Parse error');
  }
  const fields = new Map(typeof request === 'object' && request !== null ? Object.entries(request) : []);
  if (fields.get('jsonrpc') !== '2.0') throw new RpcError(RPC_ERROR.INVALID_REQUEST, 'Invalid request');
  return fields;
}
