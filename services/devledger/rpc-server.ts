import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Ledger, LedgerStoppedError } from './ledger.ts';
import { RPC_ERROR, RpcError } from './rpc-error.ts';
import { METHODS } from './rpc-methods.ts';
import { RpcParams } from './rpc-params.ts';

const BODY_MAX_BYTES = 1024 * 1024;
const BATCH_MAX = 100;
const REQUEST_TIMEOUT_MS = 10_000;
const CORS = {
  'access-control-allow-origin': '*',
  'access-control-allow-methods': 'POST, OPTIONS',
  'access-control-allow-headers': '*',
  'access-control-max-age': '86400',
};

/**
 * JSON-RPC 2.0 over HTTP on the loopback interface. `onFatal` is told when the ledger can no longer
 * keep its promises.
 */
export class RpcServer {
  readonly #ledger: Ledger;
  readonly #onFatal: (error: Error) => void;
  readonly #server: Server;

  constructor(ledger: Ledger, onFatal: (error: Error) => void) {
    this.#ledger = ledger;
    this.#onFatal = onFatal;
    this.#server = createServer({ requestTimeout: REQUEST_TIMEOUT_MS }, (request, response) => {
      this.#serve(request, response).catch(() => response.destroy());
    });
  }

  /**
   * Listens on 127.0.0.1 and gives the port; on `preferredPort` when it is free, else on one the
   * system chooses.
   */
  async listen(preferredPort: number): Promise<number> {
    try {
      return await this.#listenOn(preferredPort);
    } catch (error) {
      if (preferredPort === 0) throw error;
      return this.#listenOn(0);
    }
  }

  #listenOn(port: number): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen(port, '127.0.0.1', () => {
        this.#server.off('error', reject);
        resolve((this.#server.address() as AddressInfo).port);
      });
    });
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.method === 'OPTIONS') return void response.writeHead(204, CORS).end();
    if (request.method !== 'POST') return void response.writeHead(405, { ...CORS, allow: 'POST, OPTIONS' }).end();
    const chunks: Buffer[] = [];
    let bytes = 0;
    for await (const chunk of request as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > BODY_MAX_BYTES) return void response.writeHead(413, { ...CORS, connection: 'close' }).end();
      chunks.push(chunk);
    }
    const answer = JSON.stringify(await this.#answer(Buffer.concat(chunks).toString('utf8')));
    response.writeHead(200, { ...CORS, 'content-type': 'application/json' }).end(answer);
  }

  async #answer(body: string): Promise<unknown> {
    let request: unknown;
    try {
      request = JSON.parse(body);
    } catch {
      return failure(null, new RpcError(RPC_ERROR.PARSE, 'Parse error'));
    }
    if (!Array.isArray(request)) return this.#call(request);
    if (request.length === 0 || request.length > BATCH_MAX) {
      return failure(null, new RpcError(RPC_ERROR.INVALID_REQUEST, `A batch has 1 to ${BATCH_MAX} requests`));
    }
    const answers: unknown[] = [];
    for (const one of request) answers.push(await this.#call(one));
    return answers;
  }

  async #call(request: unknown): Promise<unknown> {
    const fields = new Map(typeof request === 'object' && request !== null ? Object.entries(request) : []);
    const given = fields.get('id');
    const id = typeof given === 'string' || typeof given === 'number' ? given : null;
    try {
      const name = fields.get('method');
      if (fields.get('jsonrpc') !== '2.0' || typeof name !== 'string') {
        throw new RpcError(RPC_ERROR.INVALID_REQUEST, 'Invalid request');
      }
      const method = METHODS.get(name);
      if (!method) throw new RpcError(RPC_ERROR.METHOD_NOT_FOUND, 'Method not found');
      this.#ledger.blocks.tick();
      return { jsonrpc: '2.0', id, result: await method(this.#ledger, new RpcParams(fields.get('params'))) };
    } catch (error) {
      if (error instanceof LedgerStoppedError) this.#onFatal(error);
      return failure(id, error);
    }
  }
}

function failure(id: string | number | null, error: unknown) {
  const known = error instanceof RpcError ? error : new RpcError(RPC_ERROR.INTERNAL, 'Internal error');
  const data = known.data === undefined ? {} : { data: known.data };
  return { jsonrpc: '2.0', id, error: { code: known.code, message: known.message, ...data } };
}
