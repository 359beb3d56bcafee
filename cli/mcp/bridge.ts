/**
 * Passes messages of the Model Context Protocol between a client on stdin and stdout, one per line,
 * and the service's `/mcp`. It adds nothing to them but the headers that HTTP needs.
 */
import { jsonLine } from '../output/json.ts';
import type { Connection } from '../settings.ts';

const VERSION_KEY = 'io.modelcontextprotocol/protocolVersion';
const PARSE_ERROR = -32_700;
const SERVER_ERROR = -32_000;
/** Text that a header can hold. */
const PRINTABLE = /^[\x21-\x7e]+$/;

interface Message {
  id?: string | number | null;
  method?: string;
  params?: { name?: unknown; requestId?: unknown; _meta?: Record<string, unknown> };
}

interface BridgeOptions extends Connection {
  /** Collection for calls that name none. */
  collection?: string | undefined;
  /** Writes one line for the client. */
  send(line: string): Promise<void>;
  /** Tells the user what the client will not see. */
  note(sentence: string): void;
}

export class Bridge {
  readonly #options: BridgeOptions;
  readonly #url: URL;
  /** Requests without an answer yet, by id. */
  readonly #running = new Map<unknown, AbortController>();
  /** Revision that `initialize` agreed on; null before, and if each message names its own. */
  #version: string | null = null;

  constructor(options: BridgeOptions) {
    this.#options = options;
    this.#url = new URL(`${options.url.replace(/\/+$/, '')}/mcp`);
    if (options.collection !== undefined) this.#url.searchParams.set('collection', options.collection);
  }

  /** Passes on the lines until they end. Then the client is gone, so requests are aborted. */
  async run(lines: AsyncIterable<string>): Promise<void> {
    const passing = new Set<Promise<void>>();
    for await (const line of lines) {
      if (line.trim() === '') continue;
      const pass = this.#pass(line).finally(() => passing.delete(pass));
      passing.add(pass);
    }
    for (const request of this.#running.values()) request.abort();
    await Promise.all(passing);
  }

  async #pass(line: string): Promise<void> {
    const message = messageIn(line);
    if (message === null) return this.#refuse(null, PARSE_ERROR, 'The line is not a JSON object.');
    if (message.method === 'notifications/cancelled') {
      this.#running.get(message.params?.requestId)?.abort();
      return;
    }
    const { id } = message;
    const control = new AbortController();
    if (id !== undefined) this.#running.set(id, control);
    try {
      await this.#ask(message, line, control.signal);
    } catch {
      if (!control.signal.aborted) await this.#refuse(id, SERVER_ERROR, `${this.#url.origin} does not answer.`);
    } finally {
      if (this.#running.get(id) === control) this.#running.delete(id);
    }
  }

  async #ask(message: Message, body: string, signal: AbortSignal): Promise<void> {
    const headers = this.#headersOf(message);
    // The key is for this address alone.
    const response = await fetch(this.#url, { method: 'POST', headers, body, redirect: 'error', signal });
    const text = await response.text();
    const { id } = message;
    if (response.status === 202) return;
    const answer = messageIn(text) as (Message & { error?: { message?: string }; result?: object }) | null;
    if (answer === null) return this.#refuse(id, SERVER_ERROR, strange(this.#url.origin, response.status));
    if (message.method === 'initialize') this.#version = versionIn(answer.result) ?? this.#version;
    if (id === undefined) this.#options.note(answer.error?.message ?? strange(this.#url.origin, response.status));
    else if (answer.id === id) await this.#options.send(`${text}\n`);
    // What is refused before the message is read, such as a key, has no id.
    else await this.#options.send(jsonLine({ ...answer, id }));
  }

  #headersOf({ method, params }: Message): Record<string, string> {
    const version = params?._meta?.[VERSION_KEY] ?? this.#version;
    const named = { 'mcp-protocol-version': version, 'mcp-method': method, 'mcp-name': params?.name };
    const given = Object.entries(named).filter(([, value]) => typeof value === 'string' && PRINTABLE.test(value));
    return {
      authorization: `Bearer ${this.#options.secret}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...(Object.fromEntries(given) as Record<string, string>),
    };
  }

  async #refuse(id: Message['id'], code: number, message: string): Promise<void> {
    if (id === undefined) this.#options.note(message);
    else await this.#options.send(jsonLine({ jsonrpc: '2.0', id, error: { code, message } }));
  }
}

const strange = (origin: string, status: number): string =>
  `${origin} answered with HTTP status ${status} and no message of MCP; it may not be Provec.`;

function messageIn(text: string): Message | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Message) : null;
  } catch {
    // The caller says that it is no message.
    return null;
  }
}

function versionIn(result: object | undefined): string | undefined {
  const version = (result as { protocolVersion?: unknown } | undefined)?.protocolVersion;
  return typeof version === 'string' ? version : undefined;
}
