/** A client of MCP, as an agent's program has it: the SDK's own. */
import { Client, StreamableHTTPClientTransport, type Transport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { PROVEC } from './command-line.ts';

/** The revisions that Provec must speak. */
export const REVISIONS = ['2026-07-28', '2025-11-25'] as const;
export type Revision = (typeof REVISIONS)[number];

/** Answer of a tool. */
export interface Told {
  isError: boolean;
  /** The first text. */
  text: string;
  /** The first text as JSON; null for an error, which is in words. */
  json: Record<string, unknown>;
  /** Number of texts. */
  texts: number;
}

export class Agent {
  readonly client: Client;

  private constructor(client: Client) {
    this.client = client;
  }

  /** Connects over HTTP. `query` is the query string of the address. */
  static overHttp(
    service: { readonly url: string; readonly key: string },
    revision: Revision,
    query = '',
  ): Promise<Agent> {
    const url = new URL(`${service.url}/mcp${query}`);
    const headers = { authorization: `Bearer ${service.key}` };
    return Agent.over(new StreamableHTTPClientTransport(url, { requestInit: { headers } }), revision);
  }

  /** Connects to `provec mcp`, which it starts. */
  static overStdio(
    service: { readonly url: string; readonly key: string },
    revision: Revision,
    ...args: string[]
  ): Promise<Agent> {
    const { PATH = '', NODE_COMPILE_CACHE = '' } = process.env;
    const env = { PATH, NODE_COMPILE_CACHE, PROVEC_URL: service.url, PROVEC_KEY: service.key };
    const command = { command: process.execPath, args: [PROVEC, 'mcp', ...args], env, stderr: 'ignore' as const };
    return Agent.over(new StdioClientTransport(command), revision);
  }

  static async over(transport: Transport, revision: Revision): Promise<Agent> {
    const mode = revision === '2026-07-28' ? { pin: revision } : 'legacy';
    const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode } });
    await client.connect(transport);
    return new Agent(client);
  }

  async call(name: string, args: object = {}, options: { signal?: AbortSignal } = {}): Promise<Told> {
    const result = await this.client.callTool({ name, arguments: { ...args } }, options);
    const texts = (result.content as { type: string; text: string }[]).map(({ text }) => text);
    const [text = ''] = texts;
    const isError = result.isError === true;
    return { isError, text, json: isError ? {} : (JSON.parse(text) as Record<string, unknown>), texts: texts.length };
  }

  close(): Promise<void> {
    return this.client.close();
  }
}
