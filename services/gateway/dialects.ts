import type { Dialect } from './dialect.ts';
import { MCP } from './mcp/dialect.ts';
import { PINECONE } from './pinecone/dialect.ts';
import { RECALL } from './recall/dialect.ts';

/** The dialects besides our own. */
export const DIALECTS: readonly Dialect[] = [PINECONE, RECALL, MCP];
