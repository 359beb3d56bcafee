/**
 * Adapter to the SDK of the Model Context Protocol, which owns the protocol: versions, JSON-RPC and
 * its errors. Only this file depends on it. A message gets a server of its own, so there are no
 * sessions, and its answer is always one JSON text, never a stream.
 */
import type { IncomingHttpHeaders } from 'node:http';
import {
  classifyInboundRequest,
  createMcpHandler,
  METHOD_NOT_FOUND,
  ProtocolError,
  ProtocolErrorCode,
  type Tool as SdkTool,
  Server,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server';
import type { JsonObject } from '../../../lib/records/fields.ts';
import { VERSION } from '../../../lib/version.ts';
import { INSTRUCTIONS } from './tools/instructions.ts';
import type { ListedTool, ToolAnswer } from './tools/tool.ts';

/** The tools of one request's key. */
export interface ToolHost {
  list(): ListedTool[];
  has(name: string): boolean;
  /** Never rejects. */
  call(name: string, given: JsonObject): Promise<ToolAnswer & { isError?: boolean }>;
}

/** Headers of the protocol. Others mean nothing to it. */
const HEADERS = ['mcp-protocol-version', 'mcp-method', 'mcp-name'] as const;
/** Provec has nothing to notify of, so it holds no stream open. */
const LISTEN = 'subscriptions/listen';

/** Returns the answer to a message, as status and JSON text. */
export async function handleMessage(
  json: JsonObject,
  headers: IncomingHttpHeaders,
  host: ToolHost,
): Promise<{ status: number; text: string }> {
  if (json.method === LISTEN) return notFound(json);
  const request = requestOf(headers);
  const named = Object.fromEntries(HEADERS.map((name) => [name, request.headers.get(name) ?? undefined]));
  const { kind } = classifyInboundRequest({
    httpMethod: 'POST',
    protocolVersionHeader: named['mcp-protocol-version'],
    mcpMethodHeader: named['mcp-method'],
    mcpNameHeader: named['mcp-name'],
    body: json,
  });
  const server = serverOf(host);
  const response = await (kind === 'legacy' ? answerEarlier : answerNewest)(server, request, json);
  return { status: response.status, text: await response.text() };
}

/** Answers by the newest revision, or says why the message is none of it. */
function answerNewest(server: Server, request: Request, json: JsonObject): Promise<Response> {
  return createMcpHandler(() => server, { legacy: 'reject' }).fetch(request, { parsedBody: json });
}

/** Answers by the revisions before, which begin with `initialize`. */
async function answerEarlier(server: Server, request: Request, json: JsonObject): Promise<Response> {
  const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true });
  await server.connect(transport);
  try {
    return await transport.handleRequest(request, { parsedBody: json });
  } finally {
    await server.close();
  }
}

function serverOf(host: ToolHost): Server {
  const options = { capabilities: { tools: {} }, instructions: INSTRUCTIONS };
  const server = new Server({ name: 'provec', version: VERSION }, options);
  server.setRequestHandler('tools/list', () => ({ tools: host.list() as SdkTool[] }));
  server.setRequestHandler('tools/call', async ({ params }) => {
    const { name, arguments: given = {} } = params;
    if (!host.has(name)) throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'There is no tool of that name.');
    return { ...(await host.call(name, given)) };
  });
  return server;
}

/** Returns the request as the SDK wants it. Answers have one type, whatever the client accepts. */
function requestOf(headers: IncomingHttpHeaders): Request {
  const own = HEADERS.flatMap((name) => (typeof headers[name] === 'string' ? [[name, headers[name]]] : []));
  const types = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
  return new Request('http://provec/mcp', { method: 'POST', headers: { ...types, ...Object.fromEntries(own) } });
}

function notFound({ id }: JsonObject): { status: number; text: string } {
  const error = { code: METHOD_NOT_FOUND, message: 'Provec sends no notifications, so there is nothing to listen to.' };
  const isId = typeof id === 'string' || typeof id === 'number';
  return { status: 404, text: JSON.stringify({ jsonrpc: '2.0', id: isId ? id : null, error }) };
}
