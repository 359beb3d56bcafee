import type { JsonSchema } from '../../../../lib/json/schema.ts';
import type { RestCalls } from '../rest-calls.ts';
import type { ToolArguments } from './tool-arguments.ts';

/** Answer of a tool: texts, the first of which is JSON. */
export interface ToolAnswer {
  content: { type: 'text'; text: string }[];
}

/** A tool that agents can call. */
export interface Tool {
  name: string;
  description: string;
  /** Scope that a key needs to see it. The route that it calls needs the same. */
  access: 'read' | 'write';
  /** Schemas of the arguments besides `collection`. */
  properties: Readonly<Record<string, JsonSchema>>;
  required: readonly string[];
  /** What `collection` is for; absent: the collection to use, which is required. */
  collection?: string;
  /** Hints for clients that ask a person before some calls. */
  hints: { destructiveHint?: boolean; idempotentHint?: boolean };
  /** Throws the ProvecError for the agent. */
  run(args: ToolArguments, calls: RestCalls): Promise<ToolAnswer>;
}

/** A tool as `tools/list` has it. */
export interface ListedTool {
  name: string;
  description: string;
  inputSchema: { type: 'object'; properties: Record<string, object>; required?: string[] };
  annotations: { readOnlyHint: boolean; openWorldHint: boolean; destructiveHint?: boolean; idempotentHint?: boolean };
}

/** Returns a tool as clients see it. With a default collection, `collection` may be left out. */
export function listedTool(tool: Tool, hasDefault: boolean): ListedTool {
  const { access, collection, description, hints, name, properties } = tool;
  const required = [...(collection === undefined && !hasDefault ? ['collection'] : []), ...tool.required];
  const named = { type: 'string', ...(collection !== undefined && { description: collection }) };
  return {
    name,
    description,
    inputSchema: {
      type: 'object',
      properties: { collection: named, ...properties } as Record<string, object>,
      ...(required.length > 0 && { required }),
    },
    annotations: { readOnlyHint: access === 'read', openWorldHint: false, ...hints },
  };
}

/** Returns an answer of these texts. */
export const answerOf = (...texts: string[]): ToolAnswer => ({
  content: texts.map((text) => ({ type: 'text', text })),
});
